// Sends requests to the database thread and returns a promise for each one. When the thread dies, all open and all later
// requests fail; the thread is never restarted.
import { Worker } from 'node:worker_threads';
import { StoreFault } from '../errors.ts';
import type { FromWorker, LogRow, SideValue, SqliteWorkerData, ToWorker } from './sqlite-messages.ts';

interface PendingReply {
  resolve: () => void;
  reject: (fault: StoreFault) => void;
}

export interface LogReader {
  opened(compactedRevision: number): void;
  /** Called with rows in revision order. */
  rows(rows: LogRow[]): void;
  sideValues(values: SideValue[]): void;
}

export class SqliteThread {
  #url: URL;
  #data: SqliteWorkerData;
  #worker: Worker | undefined;
  #pending = new Map<number, PendingReply>();
  #nextId = 1;
  #gone: StoreFault | undefined;
  #exited: Promise<void> | undefined;
  #loading: (PendingReply & { reader: LogReader }) | undefined;

  constructor(options: { url: URL; data: SqliteWorkerData }) {
    this.#url = options.url;
    this.#data = options.data;
  }

  /** Opens the database and passes the whole log to the reader. Rejects when the file is locked or damaged. */
  start(reader: LogReader): Promise<void> {
    // The environment may hold credentials, and the thread does not need it.
    const worker = new Worker(this.#url, { workerData: this.#data, env: {}, name: 'store' });
    this.#worker = worker;
    worker.on('message', (message: FromWorker) => this.#receive(message));
    worker.on('error', (error: Error) => this.#lose(`it threw: ${error.message}`, error));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#lose('it ended');
        resolve();
      });
    });
    return new Promise((resolve, reject) => {
      this.#loading = { reader, resolve, reject };
    });
  }

  commit(rows: LogRow[]): Promise<void> {
    return this.#ask((id) => ({ kind: 'commit', id, rows }));
  }

  forget(revisions: number[], compactedRevision: number): Promise<void> {
    return this.#ask((id) => ({ kind: 'forget', id, revisions, compactedRevision }));
  }

  writeSide(values: SideValue[]): Promise<void> {
    return this.#ask((id) => ({ kind: 'side', id, values }));
  }

  copy(path: string): Promise<void> {
    return this.#ask((id) => ({ kind: 'copy', id, path }));
  }

  /** Closes the database after all earlier requests. */
  async stop(): Promise<void> {
    this.#worker?.postMessage({ kind: 'close' } satisfies ToWorker);
    await this.#exited;
  }

  #ask(request: (id: number) => ToWorker): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) return reject(this.#gone);
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#worker?.postMessage(request(id));
    });
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'opened':
        this.#load((reader) => reader.opened(message.compactedRevision));
        return;
      case 'rows':
        this.#load((reader) => reader.rows(message.rows));
        return;
      case 'sideValues':
        this.#load((reader) => reader.sideValues(message.values));
        return;
      case 'ready':
        this.#loading?.resolve();
        this.#loading = undefined;
        return;
      case 'openFailed':
        this.#failLoading(openFault(this.#data.path, message.cause, message.message));
        return;
      case 'done':
        this.#answered(message.id)?.resolve();
        return;
      case 'failed': {
        const text = `Cannot write "${this.#data.path}": ${message.message}`;
        this.#answered(message.id)?.reject(new StoreFault('STORE_WRITE_FAILED', text));
        return;
      }
      default:
        message satisfies never;
    }
  }

  #load(take: (reader: LogReader) => void): void {
    if (this.#loading === undefined) return;
    try {
      take(this.#loading.reader);
      this.#worker?.postMessage({ kind: 'more' } satisfies ToWorker);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#failLoading(openFault(this.#data.path, 'corrupt', message));
    }
  }

  #failLoading(fault: StoreFault): void {
    this.#loading?.reject(fault);
    this.#loading = undefined;
  }

  #answered(id: number): PendingReply | undefined {
    const reply = this.#pending.get(id);
    this.#pending.delete(id);
    return reply;
  }

  #lose(why: string, cause?: Error): void {
    if (this.#gone !== undefined) return;
    const message = `Cannot use "${this.#data.path}": the database thread is gone: ${why}`;
    this.#gone = new StoreFault('STORE_WORKER_GONE', message, { cause });
    for (const { reject } of this.#pending.values()) reject(this.#gone);
    this.#pending.clear();
    this.#failLoading(this.#gone);
  }
}

function openFault(path: string, cause: 'locked' | 'corrupt' | 'other', message: string): StoreFault {
  switch (cause) {
    case 'locked':
      return new StoreFault('STORE_LOCKED', `Cannot open "${path}": another process has locked it`);
    case 'corrupt':
      return new StoreFault('STORE_CORRUPT', `Cannot open "${path}": the file is damaged or not a store: ${message}`);
    case 'other':
      return new StoreFault('STORE_OPEN_FAILED', `Cannot open "${path}": ${message}`);
    default:
      return cause satisfies never;
  }
}
