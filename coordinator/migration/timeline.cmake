# The timeline renderer: pure, and small enough for the command line to link without the machines.
# Included by whoever needs the target first: the command line and the migration part.
include_guard(GLOBAL)

add_library(rdmove_timeline STATIC
  ${CMAKE_CURRENT_LIST_DIR}/timeline.cpp
  ${CMAKE_CURRENT_LIST_DIR}/markup.cpp
  ${CMAKE_CURRENT_LIST_DIR}/timeline_text.cpp
  ${CMAKE_CURRENT_LIST_DIR}/timeline_svg.cpp)
target_include_directories(rdmove_timeline PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(rdmove_timeline PUBLIC rdmove_options fmt::fmt)

if(BUILD_TESTING)
  rdmove_test(timeline_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/tests/timeline_test.cpp LIBS rdmove_timeline)
endif()
