// What the Kubernetes store needs of its host: records with a version each, and one stream of their changes. Implemented over
// cluster/ elsewhere, because this room knows no HTTP. Every call throws a StoreFault when the host cannot answer; after
// STORE_HOST_FAILED it is unknown whether a change was made.

export interface HostRecord {
  name: string;
  /** Unique over all records of the host, and rising from change to change; of a deleted record the version of its end. */
  version: number;
  data: Readonly<Record<string, string>>;
}

/** `exists`: the name is taken. `conflict`: the record has another version. `absent`: there is no such record. */
export type RecordWrite = { kind: 'written'; version: number } | { kind: 'exists' | 'conflict' | 'absent' };
export type RecordRemoval = { kind: 'removed' | 'conflict' | 'absent' };

export interface HostListener {
  /** All records at one version: at the start, and after changes were missed. */
  listed(records: readonly HostRecord[], version: number): void;
  changed(change: { type: 'put' | 'delete'; record: HostRecord }): void;
  /** The host shows an older version than before. */
  wentBack(message: string): void;
  /** Why the host cannot be followed now; undefined = it can again. */
  trouble(message: string | undefined): void;
}

export interface HostRecords {
  /** In messages, such as `namespace "hostward-keys" of https://…`. */
  readonly place: string;
  /** `letsGo`: ends a record that is deleted and held by somebody else, so that its name is free. */
  get(name: string, options?: { letsGo?: boolean }): Promise<HostRecord | undefined>;
  create(name: string, data: Readonly<Record<string, string>>): Promise<RecordWrite>;
  /** `version` undefined = whatever is there; never makes a record. */
  replace(name: string, data: Readonly<Record<string, string>>, version: number | undefined): Promise<RecordWrite>;
  remove(name: string, version: number): Promise<RecordRemoval>;
  follow(listener: HostListener): void;
  /** The stream of changes is dead although the host answers: opens it again. */
  followAgain(): void;
  /** Reads all records again. */
  listAgain(): void;
  /** Values outside the records; one writer each. Of a value that several have written the greatest number counts. */
  sideValues(): Promise<Map<string, string>>;
  writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
  stop(): Promise<void>;
}
