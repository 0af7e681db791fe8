// Time is passed in: the daemon gets the system's clock, and tests get a clock that they move by hand. No other file in src/
// may ask for the time or set a timer.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Monotonic milliseconds; only the difference of two readings has a meaning. */
  now(): number;
  /** Wall time, for time stamps that people and other programs read. Never for measuring. */
  wallTime(): Date;
  /** Runs once after the delay. */
  after(delayMs: number, run: () => void): Timer;
}

/** A longer timer of the runtime fires at once. A token may live for years, and a client may name any timeoutSeconds. */
const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => new Date(),
  after(delayMs, run) {
    let handle: NodeJS.Timeout;
    const set = (leftMs: number): void => {
      if (leftMs > longestTimerMs) handle = setTimeout(() => set(leftMs - longestTimerMs), longestTimerMs);
      // The runtime writes a warning about a negative time to standard error.
      else handle = setTimeout(run, Math.max(0, leftMs));
    };
    set(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after the delay, or at once when the signal fires. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.after(delayMs, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
