# rdmove_config: the daemon's configuration file, read and checked.
find_package(tomlplusplus REQUIRED)

add_library(rdmove_config STATIC ${CMAKE_CURRENT_LIST_DIR}/config.cpp ${CMAKE_CURRENT_LIST_DIR}/config_table.cpp
                                 ${CMAKE_CURRENT_LIST_DIR}/config_values.cpp)
target_link_libraries(rdmove_config PUBLIC rdmove_base PRIVATE tomlplusplus::tomlplusplus)

if(BUILD_TESTING)
  rdmove_test(config_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/tests/config_test.cpp LIBS rdmove_config)
  target_compile_definitions(config_test PRIVATE
    RDMOVE_EXAMPLE_CONFIG="${CMAKE_CURRENT_LIST_DIR}/rdmoved.toml.example"
    RDMOVE_CONFIG_PAGE="${CMAKE_CURRENT_LIST_DIR}/../../docs/configuration.md")
endif()
