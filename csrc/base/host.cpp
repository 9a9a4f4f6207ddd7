#include "base/host.hpp"

namespace gradlife {
namespace {

Host installed{};

}  // namespace

void install_host(const Host& given) { installed = given; }

const Host& host() { return installed; }

Locked::Locked(ExitPolicy exit) : may_touch_(installed.is_alive() || exit == ExitPolicy::release), locked_(may_touch_) {
  if (locked_) token_ = installed.lock();
}

Locked::~Locked() {
  if (locked_) installed.unlock(token_);
}

Unlocked::Unlocked() : token_(installed.suspend()) {}

Unlocked::~Unlocked() { installed.resume(token_); }

void Handle::reset() {
  Object* object = release();
  if (object == nullptr) return;
  Locked locked(exit_);
  if (locked.may_touch_objects()) installed.decref(object);
}

}  // namespace gradlife
