# What rdmoved is installed with: unit, group, an example configuration, man page. Needs GNUInstallDirs and target rdmoved.

configure_file(${CMAKE_CURRENT_LIST_DIR}/rdmoved.service ${CMAKE_CURRENT_BINARY_DIR}/rdmoved.service @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rdmoved.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/rdmove.sysusers.conf DESTINATION lib/sysusers.d RENAME rdmove.conf)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/rdmoved.toml.example DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(sections ${CMAKE_CURRENT_BINARY_DIR}/rdmoved.h2m)
file(CONFIGURE OUTPUT ${sections} @ONLY CONTENT [[
[FILES]
.TP
.I /etc/rdmove/rdmoved.toml
The configuration, read once at the start.
.TP
.I /var/lib/rdmove
The journal of migrations and leases.
.TP
.I /run/rdmove/rdmoved.sock
The local API: for root and the members of group rdmove.

[EXIT STATUS]
.TP
.B 0
Stopped by SIGTERM or SIGINT. Migrations that run are journaled, and go on when it is started again.
.TP
.B 1
It could not start. The last line on standard error says why.
.TP
.B 2
The command line or the configuration is wrong.

[SEE ALSO]
.BR rdmove (1),
.BR libvirtd (8)
]])
rdmove_man_page(rdmoved 8 "moves virtual machines with RDMA devices between libvirt hosts" INCLUDE ${sections})
