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

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => new Date(),
  after: (delayMs, run) => longTimer(delayMs, run, { set: setTimeout, clear: clearTimeout }),
};

/** A longer timer of the runtime fires at once. A token may live for years, and a client may name any timeoutSeconds. */
const longestTimerMs = 2_147_483_647;

/** A timer of any length, made of timers that the runtime can wait for. */
export function longTimer<T>(
  delayMs: number,
  run: () => void,
  runtime: { set(run: () => void, delayMs: number): T; clear(handle: T): void },
): Timer {
  let handle: T;
  const wait = (leftMs: number): void => {
    if (leftMs > longestTimerMs) handle = runtime.set(() => wait(leftMs - longestTimerMs), longestTimerMs);
    // The runtime writes a warning about a negative time to standard error.
    else handle = runtime.set(run, Math.max(0, leftMs));
  };
  wait(delayMs);
  return { cancel: () => runtime.clear(handle) };
}

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
