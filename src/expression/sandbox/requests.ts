// The requests inside the daemon's side of the sandbox, and the book that each of the two processes takes them from. Each request
// is settled exactly once. A book knows neither processes nor channels.
import { realmLimits } from '../limits.ts';
import type { FailureKind, Frame } from './frames.ts';
import type { SandboxOutcome } from './sandbox.ts';

export interface SandboxRequest {
  text: string;
  causes: readonly number[];
  settle: (outcome: SandboxOutcome) => void;
}

/** The outcome of one run. costly: the answer took more processor time than a share of a batch. */
export type RunOutcome = { kind: 'answer' | 'costly'; text: string } | { kind: FailureKind; text: string };

export interface ProcessDeath {
  cause: string;
  wasHung: boolean;
  /** False for a SIGKILL that the watchdog did not send: then the kernel or an operator is the likelier cause. */
  isBlamedOnRequest: boolean;
}

export interface RequestBook {
  readonly inFlight: number;
  readonly waiting: { requests: number; chars: number };
  /** The next request that may be sent now. */
  next(): Frame | undefined;
  recordOutcome(id: number, outcome: RunOutcome): void;
  recordDeath(death: ProcessDeath): void;
  /** How long the process may work on its present requests without a word. */
  allowedSilenceMs(hardMs: number): number;
  failAll(message: string): void;
}

export function outcomeOf({ kind, text }: Frame): RunOutcome {
  switch (kind) {
    case 'answer':
    case 'costly':
    case 'timeout':
    case 'memory':
    case 'unsure':
      return { kind, text };
    case 'setup':
    case 'run':
    case 'apart':
    case 'long':
    case 'ready':
    case 'again':
    case 'broken':
      return { kind: 'broken', text: text.slice(0, realmLimits.message) };
    default:
      return kind satisfies never;
  }
}
