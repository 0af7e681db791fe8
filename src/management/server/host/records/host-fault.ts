// What the host did not do, as a fault of the store: for the log in the host's own words, and for the client of a refusal a sentence
// that names the reason and the way out.
import type { Answer } from '../../../../cluster/answer.ts';
import { quotaExceeded } from '../../../../cluster/wire/status-answer.ts';
import { StoreFault } from '../../../../store/errors.ts';
import { isReplicaName, metaName } from '../../../../store/kubernetes/records/record-format.ts';

/** A write that takes longer is no use to the client that waits for it. */
export const requestTimeoutMs = 10_000;

type Failed = Exclude<Answer, { kind: 'ok' }>;

export function hostFault(verb: 'read' | 'write' | 'delete', name: string, answer: Failed): StoreFault {
  const why = answer.kind === 'notSent' ? 'it was not sent' : answer.message;
  const refusal = refusalOf(verb, name, answer);
  const about = `Cannot ${verb} record "${name}": `;
  if (refusal === undefined) return new StoreFault('STORE_HOST_FAILED', about + why);
  const { mend, says } = refusal;
  return new StoreFault('STORE_HOST_REFUSED', about + (mend === undefined ? why : `${mend}: ${why}`), { says });
}

interface Refusal {
  /** Ahead of the host's own words, which are long. */
  mend?: string;
  says: string;
}

function refusalOf(verb: string, name: string, answer: Failed): Refusal | undefined {
  if (answer.kind === 'forbidden') return answer.namespaceTerminating ? endingNamespace : missingRight;
  if (answer.kind !== 'refused') return undefined;
  const { words = '', reason } = answer;
  if (/\bimmutable` is set/.test(words)) return marked(name);
  if (reason === quotaExceeded)
    return {
      says: `a quota in the namespace of the records is full, so nothing was changed: "${words}"; delete keys that are not used, or ask an operator, whom "hostward doctor" tells which one`,
    };
  return {
    says: `the cluster that keeps the records refuses to ${verb} the record ${name}, so nothing was changed: "${words}"; an operator finds this in the log of the server`,
  };
}

/** Ahead of what the host says of a right that is missing. */
export const rightsMend = 'grant this account the Role of `hostward docs replicas`';

const missingRight: Refusal = {
  mend: rightsMend,
  says: 'the server lacks a right in the cluster that keeps the records, so nothing was changed; an operator finds it with "hostward doctor"',
};

const endingNamespace: Refusal = {
  mend: 'the namespace of the records is being deleted, and every key with it; run "hostward backup FOLDER" while a replica still answers',
  says: 'the namespace that keeps the records is being deleted, so nothing was changed; tell an operator at once: "hostward doctor" says what is left to do',
};

function marked(name: string): Refusal {
  return {
    mend: `somebody has marked it immutable; ${afterMark(name)}`,
    says: `the record ${name} in the cluster was marked immutable by hand and cannot be changed, so nothing was; ${afterMark(name)}`,
  };
}

/** Nobody can take the mark off. A record of an object that is deleted and made again by hand counts as put back, and lets nobody in. */
function afterMark(name: string): string {
  if (isReplicaName(name) || name.startsWith('hostward-uses-'))
    return 'delete it there, and the replica makes it again';
  if (name === metaName) return 'stop all replicas, and make it again there with the same data';
  return 'delete the object, which works, and make a new one';
}
