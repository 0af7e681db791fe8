// Makes the client's answer for a fault of the store: a sentence without paths and without the text of the database, and the time to wait.
import { soonSeconds } from '../../object/meta/status.ts';
import type { StoreFault, StoreFaultCode } from '../../store/errors.ts';

export function sentenceOf({ code, says }: StoreFault): string {
  return says ?? storeSentence(code);
}

export function storeSentence(code: StoreFaultCode): string {
  switch (code) {
    case 'STORE_WRITE_FAILED':
      return 'the store cannot write to its disk, so nothing was changed; try again later';
    case 'STORE_READ_FAILED':
      return 'the store cannot read from its disk; try again later';
    case 'STORE_CORRUPT':
      return 'the file of the store is damaged; its operator must bring back a backup';
    case 'STORE_RECORD_ASIDE':
      return 'the record of this name in the cluster is damaged, or somebody has made, edited or put it back by hand, so it is not used; the log of the server names it, and "hostward doctor" says what to do';
    case 'STORE_OVERLOADED':
      return 'too many writes wait for the disk, so nothing was changed; try again later';
    case 'STORE_WORKER_GONE':
      return 'the store has failed and answers nothing until the server is started again; nothing was changed';
    case 'STORE_HOST_FAILED':
      return 'the cluster that keeps the records does not answer as it should; look whether the change was made before you try again';
    case 'STORE_HOST_AWAY':
      return 'the cluster that keeps the records does not answer, so nothing was changed; try again later';
    case 'STORE_HOST_REFUSED':
      return 'the cluster that keeps the records refuses it, so nothing was changed; the log of the server says why, such as a full quota or a missing right, and "hostward doctor" what to do';
    case 'STORE_HOST_SILENT':
      return 'the cluster that keeps the records took the change and does not report it; look whether it was made before you try again';
    case 'STORE_HOST_LAPSED':
      return 'the cluster that keeps the records was out of reach while this was under way; look whether a change was made before you try again';
    case 'STORE_ROLLED_BACK':
      return 'the cluster that keeps the records was set back to an older state; an operator must run "hostward store recover"';
    case 'STORE_FULL':
      return 'the store has as much as it may have; delete keys, or raise hostward.management.store.maxRecords and maxBytes';
    case 'STORE_NOT_OPEN':
      return 'the store is not open: the server is starting or stopping';
    case 'STORE_OPEN_FAILED':
    case 'STORE_LOCKED':
      return 'the store cannot be opened';
    default:
      return code satisfies never;
  }
}

/** Nothing was changed, and it may pass by itself. A client that sends a change again without a look must know that it was not made. */
const passing: ReadonlySet<StoreFaultCode> = new Set([
  'STORE_WRITE_FAILED',
  'STORE_READ_FAILED',
  'STORE_OVERLOADED',
  'STORE_NOT_OPEN',
  'STORE_HOST_AWAY',
]);

/** For Retry-After; 0 = to send it again does not help, or may do it twice. */
export function retrySecondsOf(code: StoreFaultCode): number {
  return passing.has(code) ? soonSeconds : 0;
}
