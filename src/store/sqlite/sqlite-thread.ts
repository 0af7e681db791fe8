// Sends requests to the database thread and returns a promise for each answer. When the thread dies, all open and all later
// requests fail; the thread is never restarted.
import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../../thread-environment.ts';
import { StoreFault } from '../errors.ts';
import type { FromWorker, OpenFailure, RequestKind, Requests, SqliteWorkerData, ToWorker } from './sqlite-messages.ts';

interface Pending {
  kind: RequestKind;
  resolve: (answer: never) => void;
  reject: (fault: StoreFault) => void;
}

/** The thread makes rows and gives them away; the flags for the program would give it three times sixteen. */
const maxYoungGenerationSizeMb = 4;

export interface Opened {
  revision: number;
  compactedRevision: number;
}

export class SqliteThread {
  #url: URL;
  #data: SqliteWorkerData;
  #worker: Worker | undefined;
  #pending = new Map<number, Pending>();
  #nextId = 1;
  #gone: StoreFault | undefined;
  #exited: Promise<void> | undefined;
  #opening: { resolve: (opened: Opened) => void; reject: (fault: StoreFault) => void } | undefined;

  constructor(options: { url: URL; data: SqliteWorkerData }) {
    this.#url = options.url;
    this.#data = options.data;
  }

  /** Opens the database. Rejects when the file is locked or damaged. */
  start(): Promise<Opened> {
    const given = { workerData: this.#data, name: 'store', resourceLimits: { maxYoungGenerationSizeMb } };
    const worker = new Worker(this.#url, { ...given, env: threadEnvironment() });
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
      this.#opening = { resolve, reject };
    });
  }

  ask<K extends RequestKind>(kind: K, ask: Requests[K]['ask']): Promise<Requests[K]['answer']> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) return reject(this.#gone);
      const id = this.#nextId++;
      this.#pending.set(id, { kind, resolve, reject });
      this.#worker?.postMessage({ kind, id, ask } as ToWorker);
    });
  }

  /** Closes the database after all earlier requests. */
  async stop(): Promise<void> {
    this.#worker?.postMessage({ kind: 'close' } satisfies ToWorker);
    await this.#exited;
  }

  #receive(message: FromWorker): void {
    const { path } = this.#data;
    switch (message.kind) {
      case 'opened':
        this.#opening?.resolve(message);
        this.#opening = undefined;
        return;
      case 'openFailed':
        this.#failOpening(openFault(path, message.cause, message.message));
        return;
      case 'answer':
        this.#answered(message.id)?.resolve(message.answer as never);
        return;
      case 'failed': {
        const pending = this.#answered(message.id);
        pending?.reject(requestFault(path, pending.kind, message));
        return;
      }
      default:
        message satisfies never;
    }
  }

  #failOpening(fault: StoreFault): void {
    this.#opening?.reject(fault);
    this.#opening = undefined;
  }

  #answered(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #lose(why: string, cause?: Error): void {
    if (this.#gone !== undefined) return;
    const message = `Cannot use "${this.#data.path}": the database thread is gone: ${why}`;
    this.#gone = new StoreFault('STORE_WORKER_GONE', message, { cause });
    for (const { reject } of this.#pending.values()) reject(this.#gone);
    this.#pending.clear();
    this.#failOpening(this.#gone);
  }
}

const writes: readonly RequestKind[] = ['commit', 'forget', 'side', 'copy'];

function requestFault(path: string, kind: RequestKind, { cause, message }: { cause: OpenFailure; message: string }) {
  if (writes.includes(kind)) return new StoreFault('STORE_WRITE_FAILED', `Cannot write "${path}": ${message}`);
  const damage = 'the file is damaged or not a store';
  if (cause === 'corrupt') return new StoreFault('STORE_CORRUPT', `Cannot read "${path}": ${damage}: ${message}`);
  return new StoreFault('STORE_READ_FAILED', `Cannot read "${path}": ${message}`);
}

function openFault(path: string, cause: OpenFailure, message: string): StoreFault {
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
