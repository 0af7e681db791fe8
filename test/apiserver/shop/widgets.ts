// A test tenant of the kit over plain HTTP: one invented kind with a status, an action and a column.

import type { Kind, Schemas } from '../../../src/apiserver/kinds/kind.ts';
import { allVerbs } from '../../../src/apiserver/kinds/kind.ts';
import type { Authenticate } from '../../../src/apiserver/request/identity.ts';
import { ApiServer } from '../../../src/apiserver/server.ts';
import type {
  AccessHooks,
  ApiServerOptions,
  CallerHooks,
  ListenAt,
  ServedApi,
} from '../../../src/apiserver/server-options.ts';
import { systemClock } from '../../../src/clock.ts';
import { Access } from '../../../src/devcluster/kinds/access.ts';
import { silentLog } from '../../../src/log.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';

export const widgetKind: Kind = {
  group: 'shop.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  shortNames: ['wg'],
  namespaced: true,
  verbs: allVerbs,
  schema: 'Widget',
  storage: 'widgets',
  strategy: {
    hasStatus: true,
    countsGenerations: true,
    setDefaults(object) {
      object['spec'] = { size: 'small', ...(object['spec'] as object | undefined) };
    },
    validate: ({ object }) =>
      (object['spec'] as { size?: string }).size === 'huge'
        ? [{ type: 'FieldValueInvalid', path: 'spec.size', message: 'Invalid value: "huge": does not fit' }]
        : [],
  },
  columns: [],
  subresources: {
    status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] },
    paint: {
      mode: 'action',
      kind: 'Paint',
      group: 'shop.example',
      version: 'v1',
      schema: 'Paint',
      holdsSecret: true,
      act: (body, ctx) => ({
        metadata: {},
        spec: body['spec'],
        status: { of: ctx.object?.metadata.name ?? null, dryRun: ctx.dryRun },
      }),
    },
  },
  selectableFields: { 'spec.size': (object) => String((object['spec'] as { size?: string } | undefined)?.size ?? '') },
};

const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };

export const widgetSchemas: Schemas = {
  Widget: {
    type: 'object',
    properties: {
      kind: text,
      apiVersion: text,
      metadata: { $ref: '#/components/schemas/Meta' },
      spec: {
        type: 'object',
        properties: { size: text, tags: { type: 'array', items: text }, parts: partList() },
      },
      status: { type: 'object', properties: { phase: text } },
    },
  },
  Paint: {
    type: 'object',
    properties: {
      kind: text,
      apiVersion: text,
      metadata: { $ref: '#/components/schemas/Meta' },
      spec: {
        type: 'object',
        properties: { colour: { type: 'string', enum: ['red', 'blue'] }, coats: { type: 'integer' } },
      },
    },
  },
  Meta: {
    type: 'object',
    properties: {
      name: text,
      generateName: text,
      namespace: text,
      uid: text,
      resourceVersion: text,
      generation: { type: 'integer' },
      creationTimestamp: text,
      deletionTimestamp: text,
      deletionGracePeriodSeconds: { type: 'integer' },
      labels: texts,
      annotations: texts,
      finalizers: {
        type: 'array',
        items: text,
        'x-kubernetes-list-type': 'set',
        'x-kubernetes-patch-strategy': 'merge',
      },
      managedFields: { type: 'array', items: { type: 'object' } },
    },
  },
};

function partList() {
  return {
    type: 'array',
    items: { type: 'object', properties: { name: text, count: { type: 'integer' } } },
    'x-kubernetes-list-type': 'map' as const,
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-patch-strategy': 'merge',
    'x-kubernetes-patch-merge-key': 'name',
  };
}

const shopVersion = { major: '1', minor: '0', gitVersion: 'v1.0.0' };

export const collection = '/apis/shop.example/v1/namespaces/main/widgets';

export interface Shop {
  server: ApiServer;
  store: MemoryStore;
  access: Access;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<HttpReply>;
  stop(): Promise<void>;
}

export interface HttpReply {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
}

/** The options of a server side by side, without those that a shop chooses itself. */
export type ShopOptions = Partial<
  Omit<ApiServerOptions, 'serves' | 'access' | 'callers' | 'listen'> &
    ServedApi &
    Omit<AccessHooks, 'authenticate'> & { authenticate: Authenticate } & CallerHooks &
    ListenAt
>;

export async function openShop(options: ShopOptions = {}): Promise<Shop> {
  const clock = options.clock ?? systemClock;
  const store = new MemoryStore({ clock });
  await store.start();
  const access = new Access(clock);
  access.add({ name: 'owner', groups: ['system:masters'], token: 'owner-token' });
  const { kinds = [widgetKind], schemas = widgetSchemas, version = shopVersion, authenticate, ...given } = options;
  const proved = authenticate ?? access.authenticate;
  const server = new ApiServer({
    log: silentLog,
    ...given,
    serves: { ...given, kinds, schemas, version },
    store: given.store ?? store,
    clock,
    access: { authorize: access.authorize, ...given, authenticate: ({ request }) => proved(request) },
    callers: given,
    listen: { host: '127.0.0.1', port: 0, ...given },
  });
  await server.start();
  return {
    server,
    store,
    access,
    async call(method, path, body, headers = {}) {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: {
          authorization: 'Bearer owner-token',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const answer = await response.text();
      return { status: response.status, headers: response.headers, text: answer, json: parsed(answer) };
    },
    async stop() {
      await server.stop();
      await store.stop();
    },
  };
}

export const widget = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

function parsed(answer: string): Record<string, unknown> {
  try {
    return JSON.parse(answer) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Reads a stream line by line: `next` waits for one more line, `rest` for the end of the stream. */
export class Lines {
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #buffered = '';
  #decoder = new TextDecoder();

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  async next(): Promise<Record<string, unknown> | undefined> {
    for (;;) {
      const end = this.#buffered.indexOf('\n');
      if (end >= 0) {
        const line = this.#buffered.slice(0, end);
        this.#buffered = this.#buffered.slice(end + 1);
        return JSON.parse(line) as Record<string, unknown>;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#buffered += this.#decoder.decode(value, { stream: true });
    }
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}
