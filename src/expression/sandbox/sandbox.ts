// This room runs requests in a separate process and kills the process when it hangs or grows. In: the set-up (the code that runs
// inside) and requests as text. Out: one outcome for each request. A request is pure, so it can run again after any failure.
// This room must never know what a request or an answer means.

/** Why a request has no answer although it ran: its time or its memory ran out, or it ended the process. */
export type RanOut = { kind: 'timeout' } | { kind: 'memory' } | { kind: 'crash'; message: string };

export type SandboxOutcome =
  | { kind: 'answer'; text: string }
  | RanOut
  /** The request did not run: the sandbox cannot be started, is overloaded, or was stopped. */
  | { kind: 'unavailable'; message: string };

export interface RunOptions {
  /** Numbers of the parts of the request. Requests with the same parts take turns with others, and fail together. */
  causes?: readonly number[];
  /** A request with one of these parts ran out lately, so this one goes to the back end of the line. */
  isSuspected?: boolean;
  /** An earlier request about the same thing was answered, so this one comes before those without a past at the back end. */
  isOfKnown?: boolean;
  /** The request ran out before: it gets its whole time at the back end, and no short slice first. */
  alone?: boolean;
}

export interface Sandbox {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The text has no line break, because a batch of requests is sent as lines. */
  run(text: string, options?: RunOptions): Promise<SandboxOutcome>;
}
