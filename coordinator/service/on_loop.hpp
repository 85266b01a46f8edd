// From a gRPC thread to the loop and back: runs `what` on the loop thread and waits for its result.
// When the loop has stopped the wait ends with an error instead of for ever.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "coordinator/base/result.hpp"

namespace rdmove {

/// `what` gets a callback that it calls once, now or later, with the result.
template <class T>
Result<T> awaitLoop(boost::asio::io_context& loop, std::function<void(std::function<void(Result<T>)>)> what) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  boost::asio::post(loop, [promise = std::move(promise), what = std::move(what)]() mutable {
    what([promise = std::move(promise)](Result<T> result) { promise->set_value(std::move(result)); });
  });
  try {
    return future.get();
  } catch (const std::future_error&) {
    return failure(ErrorCode::kCancelled, "", "the daemon is stopping", "Try again when it is up.");
  }
}

/// The same for work that is done at once.
template <class Work>
auto onLoop(boost::asio::io_context& loop, Work work) -> decltype(work()) {
  using ResultType = decltype(work());
  using Value = typename ResultType::value_type;
  return awaitLoop<Value>(loop,
                          [work = std::move(work)](std::function<void(ResultType)> done) { done(work()); });
}

}  // namespace rdmove
