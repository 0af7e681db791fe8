// What a store that several replicas use says of them.

/** For `hostward status`. */
export interface SharedStatus {
  place: string;
  replica: string;
  /** Those that were heard in the last seconds. */
  replicas: readonly string[];
  /** The one that removes what is over. */
  sweeper: string | undefined;
  /** How long ago this replica was shown to know everything. */
  lagMs: number;
  records: number;
  bytes: number;
  /** What somebody must mend. */
  troubles: readonly string[];
}

/** Of a store that several replicas use. */
export interface Shared {
  /** The name of this one. */
  replica: string;
  /** Whether this one does what one of them must do for all. */
  sweeps(): boolean;
  status(): SharedStatus;
}
