// Faults of a store, which callers must not swallow. Expected outcomes, such as a lost compare-and-swap, are values in store.ts.

export type StoreFaultCode =
  | 'STORE_NOT_OPEN'
  | 'STORE_OVERLOADED'
  | 'STORE_OPEN_FAILED'
  | 'STORE_LOCKED'
  | 'STORE_CORRUPT'
  | 'STORE_WRITE_FAILED'
  | 'STORE_WORKER_GONE';

export class StoreFault extends Error {
  readonly code: StoreFaultCode;

  constructor(code: StoreFaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreFault';
    this.code = code;
  }
}
