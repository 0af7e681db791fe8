// What the rest of the room sees of a sandbox, wherever it runs: texts in, one outcome for each. A request is pure, so it can
// be run again after whatever happened to it.

export type SandboxOutcome =
  | { kind: 'answer'; text: string }
  | { kind: 'timeout' }
  | { kind: 'memory' }
  /** The process died of it, every time. */
  | { kind: 'crash'; message: string }
  /** The request was never run: the sandbox cannot be started, has too much to do, or is stopped. */
  | { kind: 'unavailable'; message: string };

export interface Sandbox {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** alone: with nothing else in the sandbox at the time, so that whatever happens is of this request's doing. */
  run(text: string, options?: { alone?: boolean }): Promise<SandboxOutcome>;
}
