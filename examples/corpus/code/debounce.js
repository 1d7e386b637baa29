// Calling less often: once things have calmed down, or at most once per interval.

/**
 * Returns a function that waits until it has not been called for `quietMs` and then runs `action` once, with the last arguments.
 * For search fields that should not send a request for every key.
 */
export function debounce(action, quietMs) {
  let timer = null;
  const debounced = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      action(...args);
    }, quietMs);
  };
  debounced.cancel = () => {
    clearTimeout(timer);
    timer = null;
  };
  return debounced;
}

/**
 * Returns a function that runs `action` at once and then ignores further calls for `intervalMs`; the last ignored call is made up for
 * at the end. For scroll and resize handlers.
 */
export function throttle(action, intervalMs) {
  let blocked = false;
  let pendingArgs = null;
  return function throttled(...args) {
    if (blocked) {
      pendingArgs = args;
      return;
    }
    blocked = true;
    action(...args);
    setTimeout(() => {
      blocked = false;
      if (pendingArgs !== null) {
        const next = pendingArgs;
        pendingArgs = null;
        throttled(...next);
      }
    }, intervalMs);
  };
}
