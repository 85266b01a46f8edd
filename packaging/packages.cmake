# The Debian packages: rdmove (a host), rdmove-agent (a guest), librdmove1 and librdmove-dev (applications). `cpack -G DEB`
# in a build folder that was configured with -DCMAKE_INSTALL_PREFIX=/usr; migration-tests/packages does all of it, and
# installs them in a clean root. docs/packages.md.
add_custom_target(rdmove_packaged)  # what cpack puts into them
foreach(target rdmoved rdmove rdmove-hook rdmove_documents rdmove-agent rdmove-ping rdmove-shadow
               rdmove_before_libibverbs rdmove_before_librdmacm rdmove_shared rdmove_static)
  foreach(each ${target} ${target}_man)
    if(TARGET ${each})
      add_dependencies(rdmove_packaged ${each})
    endif()
  endforeach()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rdmove)
set(CPACK_PACKAGE_CONTACT "rdmove maintainers <rdmove@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # for what is outside of the prefix: libvirt's hooks
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL host guest librdmove librdmove-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
file(READ ${CMAKE_CURRENT_LIST_DIR}/version.txt revision)
string(STRIP "${revision}" revision)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})

set(scripts ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_DEBIAN_HOST_PACKAGE_NAME rdmove)
set(CPACK_DEBIAN_HOST_PACKAGE_SECTION admin)
set(CPACK_COMPONENT_HOST_DESCRIPTION "Live migration of virtual machines with RDMA devices: daemon, command line, libvirt hook
 rdmoved takes the RDMA device out of a virtual machine at the right moment, lets libvirt move the machine, and gives it a
 device of its new host.")
set(CPACK_DEBIAN_HOST_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~)")
set(CPACK_DEBIAN_HOST_PACKAGE_RECOMMENDS "libvirt-daemon-system, libvirt-clients")
set(CPACK_DEBIAN_HOST_PACKAGE_CONTROL_EXTRA
  "${scripts}/rdmove/postinst;${scripts}/rdmove/prerm;${scripts}/rdmove/postrm")

set(CPACK_DEBIAN_GUEST_PACKAGE_NAME rdmove-agent)
set(CPACK_DEBIAN_GUEST_PACKAGE_SECTION admin)
set(CPACK_COMPONENT_GUEST_DESCRIPTION "Guest agent of rdmove
 It has applications let go of a virtual machine's RDMA device before the machine moves, and brings addresses, routes and
 the device back afterwards.")
set(CPACK_DEBIAN_GUEST_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~)")
set(CPACK_DEBIAN_GUEST_PACKAGE_CONTROL_EXTRA
  "${scripts}/rdmove-agent/postinst;${scripts}/rdmove-agent/prerm;${scripts}/rdmove-agent/postrm")

set(CPACK_DEBIAN_LIBRDMOVE_PACKAGE_NAME librdmove1)
set(CPACK_DEBIAN_LIBRDMOVE_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRDMOVE_DESCRIPTION "RDMA connections that outlive their device
 For applications in virtual machines that rdmove moves.")
set(CPACK_DEBIAN_LIBRDMOVE_PACKAGE_CONTROL_EXTRA "${scripts}/librdmove1/triggers")

set(CPACK_DEBIAN_LIBRDMOVE-DEV_PACKAGE_NAME librdmove-dev)
set(CPACK_DEBIAN_LIBRDMOVE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBRDMOVE-DEV_DESCRIPTION "RDMA connections that outlive their device: for development
 Headers, the static library, a CMake package and a pkg-config file.")
set(CPACK_DEBIAN_LIBRDMOVE-DEV_PACKAGE_DEPENDS
  "librdmove1 (= ${PROJECT_VERSION}-${revision}), librdmacm-dev, libibverbs-dev, libexpected-dev, libfmt-dev")
include(CPack)
