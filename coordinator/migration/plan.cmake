# rdmove_plan: the plan, the leases and the guest's traffic as JSON, the journal's and the wire's form; what a model promises.
add_library(rdmove_plan STATIC ${CMAKE_CURRENT_LIST_DIR}/plan_json.cpp ${CMAKE_CURRENT_LIST_DIR}/identity_json.cpp
  ${CMAKE_CURRENT_LIST_DIR}/json_reader.cpp ${CMAKE_CURRENT_LIST_DIR}/traffic.cpp
  ${CMAKE_CURRENT_LIST_DIR}/model_promises.cpp ${CMAKE_CURRENT_LIST_DIR}/transfer_samples.cpp)
target_link_libraries(rdmove_plan PUBLIC rdmove_base PRIVATE nlohmann_json::nlohmann_json fmt::fmt)

if(BUILD_TESTING)
  rdmove_test(plan_json_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/tests/plan_json_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/traffic_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/transfer_samples_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/model_promises_test.cpp LIBS rdmove_plan)
endif()
