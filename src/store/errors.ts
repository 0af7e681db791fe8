// Faults of a store, which callers must not swallow. Expected outcomes, such as a lost compare-and-swap, are values in store.ts.

export type StoreFaultCode =
  | 'STORE_NOT_OPEN'
  | 'STORE_OVERLOADED'
  | 'STORE_OPEN_FAILED'
  | 'STORE_LOCKED'
  | 'STORE_CORRUPT'
  /** One record cannot be read or believed, and all others can. */
  | 'STORE_RECORD_ASIDE'
  | 'STORE_READ_FAILED'
  | 'STORE_WRITE_FAILED'
  | 'STORE_WORKER_GONE'
  /** The API server that keeps the records did not do what was asked, or did not say whether it did. */
  | 'STORE_HOST_FAILED'
  /** It is out of reach or does not answer as it should, and nothing was changed. */
  | 'STORE_HOST_AWAY'
  /** It refused what was asked, so nothing was changed: a missing right, a full quota, a policy. */
  | 'STORE_HOST_REFUSED'
  /** It took a change and has not reported it. */
  | 'STORE_HOST_SILENT'
  /** It was out of reach for too long in the meantime, so that whoever asked may not be allowed to any more. */
  | 'STORE_HOST_LAPSED'
  /** The store has as many records as it may have. */
  | 'STORE_FULL'
  /** It was set back to an older state. */
  | 'STORE_ROLLED_BACK';

export class StoreFault extends Error {
  readonly code: StoreFaultCode;
  /** For whoever asked; undefined = the sentence of the code. The message is for the log alone. */
  readonly says: string | undefined;

  constructor(code: StoreFaultCode, message: string, options?: ErrorOptions & { says?: string }) {
    super(message, options);
    this.says = options?.says;
    this.name = 'StoreFault';
    this.code = code;
  }
}
