rdmove_test(metrics_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/metrics_test.cpp ${CMAKE_CURRENT_LIST_DIR}/log_tail_test.cpp
  LIBS rdmove_service prometheus-cpp::core)

# Tests of the daemon's two APIs, over real gRPC on the loopback; what is behind them are fakes and a real journal.
rdmove_test(partner_service_test
  SOURCES ${PROJECT_SOURCE_DIR}/coordinator/preflight/tests/occupancy_test.cpp
          ${PROJECT_SOURCE_DIR}/coordinator/preflight/tests/arrival_room_test.cpp
          ${PROJECT_SOURCE_DIR}/coordinator/preflight/tests/examiner_test.cpp
          ${PROJECT_SOURCE_DIR}/coordinator/preflight/tests/identity_claims_test.cpp
          ${PROJECT_SOURCE_DIR}/coordinator/migration/tests/alias_grant_test.cpp
          ${PROJECT_SOURCE_DIR}/coordinator/migration/tests/definition_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/partner_service_test.cpp ${CMAKE_CURRENT_LIST_DIR}/identity_at_destination_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/vf_exchange_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/partner_client_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/hook_socket_test.cpp
  LIBS rdmove_service rdmove_hook rdmove_journal rdmove_fabric rdmove_domain_xml)
