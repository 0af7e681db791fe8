// What a check of `hostward doctor` found: a verdict, a line about it, and how to mend it.
import type { Answer } from '../../../cluster/answer.ts';
import type { ClusterFault } from '../../../cluster/errors.ts';
import type { Code } from './codes.ts';

export type CheckVerdict = 'ok' | 'warning' | 'fault' | 'couldNotCheck';

export interface Finding {
  verdict: CheckVerdict;
  /** What was found, in one line. */
  says: string;
  /** A line for each part of it, such as each missing right. */
  details?: readonly string[];
  /** The command that mends it, or what to do when no command can. */
  mend?: string;
  /** What a rollout may mend by itself, so that --wait looks again. */
  mayPass?: boolean;
  /** No answer came, so that another look may give a verdict: --wait looks again. */
  isUnanswered?: boolean;
}

export interface CheckedFinding extends Finding {
  code: Code;
}

export function ok(says: string): Finding {
  return { verdict: 'ok', says };
}

type More = Pick<Finding, 'details' | 'mend' | 'mayPass' | 'isUnanswered'>;

export function fault(says: string, more: More = {}): Finding {
  return { verdict: 'fault', says, ...more };
}

/** What the daemon would say too. */
export function faultOf({ message, fix }: ClusterFault): Finding {
  return fault(message, { mend: fix });
}

export function warning(says: string, more: More = {}): Finding {
  return { verdict: 'warning', says, ...more };
}

/** `mend`: how to have it checked after all. */
export function couldNotCheck(says: string, more: More & { mend: string }): Finding {
  return { verdict: 'couldNotCheck', says, ...more };
}

/** A moment's trouble of a server, which is no verdict. */
export function unanswered(says: string): Finding {
  return couldNotCheck(says, { mend: 'run doctor again', isUnanswered: true });
}

/** What the server said in place of an object or a list. `kubectl` shows it to who may read it. */
export function unread(what: string, answer: Exclude<Answer, { kind: 'ok' }>, kubectl: string): Finding {
  if (answer.kind === 'forbidden')
    return couldNotCheck(`${what} may not be read: ${answer.message}`, {
      mend: `${kubectl}   # with a kubectl that may`,
    });
  const said = answer.kind === 'notSent' ? 'the question was not sent' : answer.message;
  return {
    ...unanswered(`${what} cannot be read: ${said}`),
    mend: `${kubectl}   # with the same kubeconfig; then run doctor again`,
  };
}

export const interrupted = couldNotCheck('interrupted', { mend: 'run doctor again' });
