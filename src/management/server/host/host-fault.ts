// What the host did not do, as a fault of the store.
import type { Answer } from '../../../cluster/answer.ts';
import { StoreFault } from '../../../store/errors.ts';

/** A write that takes longer is no use to the client that waits for it. */
export const requestTimeoutMs = 10_000;

export function hostFault(verb: string, name: string, answer: Exclude<Answer, { kind: 'ok' }>): StoreFault {
  const why = answer.kind === 'notSent' ? 'it was not sent' : answer.message;
  const isRefused = answer.kind === 'forbidden' || answer.kind === 'refused';
  return new StoreFault(
    isRefused ? 'STORE_HOST_REFUSED' : 'STORE_HOST_FAILED',
    `Cannot ${verb} record "${name}": ${answer.kind === 'forbidden' ? `${role}: ` : ''}${why}`,
  );
}

/** Ahead of the host's own words, which are long. */
const role = 'grant this account the Role of `hostward docs replicas`';
