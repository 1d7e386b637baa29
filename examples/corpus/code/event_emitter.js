// Publish and subscribe inside one program.

export class EventEmitter {
  #listeners = new Map();

  /** Registers a listener and returns a function that removes it again. */
  on(event, listener) {
    const set = this.#listeners.get(event) ?? new Set();
    set.add(listener);
    this.#listeners.set(event, set);
    return () => this.off(event, listener);
  }

  /** As `on`, for the next occurrence only. */
  once(event, listener) {
    const remove = this.on(event, (...args) => {
      remove();
      listener(...args);
    });
    return remove;
  }

  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }

  /**
   * Calls all listeners in the order of registration. One that throws does not keep the others from being called; the errors are thrown together afterwards.
   */
  emit(event, ...args) {
    const errors = [];
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        listener(...args);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) {
      throw new AggregateError(errors, `${errors.length} listeners of ${event} failed`);
    }
  }
}
