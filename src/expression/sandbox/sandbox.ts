// This room runs requests in a separate process and kills the process when it hangs or grows. In: the set-up (the code that runs
// inside) and requests as text. Out: one outcome for each request. A request is pure, so it can run again after any failure.
// This room must never know what a request or an answer means.

export type SandboxOutcome =
  | { kind: 'answer'; text: string }
  | { kind: 'timeout' }
  | { kind: 'memory' }
  /** The process died while it ran this request alone. */
  | { kind: 'crash'; message: string }
  /** The request did not run: the sandbox cannot be started, is overloaded, or was stopped. */
  | { kind: 'unavailable'; message: string };

export interface RunOptions {
  /** No other request is in the sandbox process at the time, so that this request is to blame for a failure. */
  alone?: boolean;
  /** Numbers of the parts of the request. After a failure, requests that share the failed parts keep out of the way of the others. */
  causes?: readonly number[];
}

export interface Sandbox {
  start(): Promise<void>;
  stop(): Promise<void>;
  run(text: string, options?: RunOptions): Promise<SandboxOutcome>;
}
