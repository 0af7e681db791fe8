// Runs one contract case against a server and returns its normalised answers, step by step.
import { createHash } from 'node:crypto';
import { pause, systemClock } from '../../../src/clock.ts';
import { type Answer, type ApiClient, type RequestOptions, type WatchLine, WatchStream } from '../client.ts';
import { acceptTypes, type Case, methods, patchTypes, type Step, statusOf } from './case.ts';
import { Normaliser } from './normalise.ts';

/** The result of a step, in the form of the recorded answers. */
export interface Shown {
  step: string;
  status?: number;
  type?: string;
  warnings?: string[];
  location?: string;
  body?: unknown;
  events?: unknown[];
}

/** Texts too long for a case file; 256 KiB is the limit of all annotations together, including keys. */
const bulk: [string, string][] = [
  ['kib256', 'x'.repeat(256 * 1024)],
  ['kib256less1', 'x'.repeat(256 * 1024 - 1)],
  ['mib2', 'eHh4'.repeat(512 * 1024)],
  ['mib4', 'eHh4'.repeat(1024 * 1024)],
];

/** Ten seconds together; a real server needs some milliseconds. */
const attempts = 500;
const retryMs = 20;

export interface Stage {
  client: ApiClient;
  strangerToken: string | undefined;
  compact: (() => Promise<void>) | undefined;
}

/** Number of tries, by name of the case. */
const triesOf = new Map<string, number>();

export class Player {
  #stage: Stage;
  #values: Map<string, string>;
  #normaliser: Normaliser;
  #watches = new Map<string, WatchStream>();

  constructor(stage: Stage, played: Case) {
    this.#stage = stage;
    // A second try uses a new namespace, because the first one may have left objects.
    const tries = (triesOf.get(played.name) ?? 0) + 1;
    triesOf.set(played.name, tries);
    const id = createHash('sha256')
      .update(`${played.name}${tries === 1 ? '' : tries}`)
      .digest('hex');
    const namespace = `case-${id.slice(0, 10)}`;
    this.#values = new Map([['ns', namespace], ...bulk]);
    this.#normaliser = new Normaliser(namespace);
  }

  async start(): Promise<void> {
    const answer = await this.#stage.client.request('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.#values.get('ns') } },
    });
    if (answer.status !== 201)
      throw new Error(`creating the namespace of the case answered ${answer.status}: ${answer.text}`);
  }

  stop(): void {
    for (const stream of this.#watches.values()) stream.close();
  }

  /** Runs a step; returns undefined when there is no answer to compare. */
  async play(written: Step): Promise<Shown | undefined> {
    const step = this.#filledIn(written) as Step;
    if (step.compact === true) {
      await this.#stage.compact?.();
      return undefined;
    }
    if (step.many !== undefined) return this.#many(step, step.many);
    if (step.WATCH !== undefined) return this.#open(step, `WATCH ${written.WATCH}`);
    if (step.events !== undefined) return this.#events(step, step.events);
    if (step.ends !== undefined) return this.#end(step, step.ends);
    const method = methods.find((name) => step[name] !== undefined);
    if (method === undefined) throw new Error(`a step without a verb: ${JSON.stringify(written)}`);
    const path = pathOf(step[method] as string, this.#values.get('ns') as string);
    const answer = await this.#answer(method, path, step);
    checkList(answer.json);
    this.#save(step, answer);
    return this.#shown(`${method} ${written[method]}`, step, answer);
  }

  async #answer(method: string, path: string, step: Step): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#stage.client.request(method, path, this.#options(step));
      if (step.eventually !== true || answer.status === statusOf(step) || attempt === attempts) return answer;
      await pause(systemClock, retryMs);
    }
  }

  async #many(step: Step, path: string): Promise<undefined> {
    const full = pathOf(path, this.#values.get('ns') as string);
    for (let index = 0; index < (step.count ?? 0); index++) {
      const body = JSON.parse(JSON.stringify(step.body).replaceAll('$i', String(index).padStart(3, '0'))) as unknown;
      const answer = await this.#stage.client.request('POST', full, { body });
      if (answer.status !== 201) throw new Error(`creating object ${index} answered ${answer.status}: ${answer.text}`);
    }
  }

  async #open(step: Step, name: string): Promise<Shown | undefined> {
    const full = pathOf(step.WATCH as string, this.#values.get('ns') as string);
    const stream = await this.#stage.client.watch(full, this.#options(step));
    if (!(stream instanceof WatchStream)) return this.#shown(name, step, stream);
    this.#watches.set(step.as ?? 'watch', stream);
    return { step: name, status: 200, type: String(stream.headers['content-type']) };
  }

  async #events(step: Step, name: string): Promise<Shown> {
    const events: unknown[] = [];
    for (let taken = 0; step.count === undefined || taken < step.count; taken++) {
      const event = await this.#watch(name).next();
      if (event === undefined) throw new Error(`the watch "${name}" ended after ${taken} events`);
      events.push(this.#event(step, event));
      if (taken === 0) this.#saveFrom(step, event);
      if (step.count === undefined && event.type === 'BOOKMARK') break;
    }
    return { step: 'events', events };
  }

  async #end(step: Step, name: string): Promise<Shown> {
    const events: unknown[] = [];
    for (let event = await this.#watch(name).next(); event !== undefined; event = await this.#watch(name).next()) {
      // The number of bookmarks before the end depends on timing.
      if (event.type !== 'BOOKMARK') events.push(this.#event(step, event));
    }
    return { step: 'end', events };
  }

  #event(step: Step, event: WatchLine): unknown {
    if (event.type === 'BOOKMARK') {
      // The version of a bookmark may differ between servers, but it must be a number.
      const object = structuredClone(event.object) as { metadata?: { resourceVersion?: string } };
      if (/^\d+$/.test(object.metadata?.resourceVersion ?? '') && object.metadata)
        object.metadata.resourceVersion = '0';
      return this.#normaliser.normalise({ type: event.type, object }, { managedFields: false });
    }
    return this.#normaliser.normalise(event, { managedFields: step.managedFields ?? false });
  }

  #watch(name: string): WatchStream {
    const stream = this.#watches.get(name);
    if (stream === undefined) throw new Error(`no watch is called "${name}"`);
    return stream;
  }

  #options(step: Step): RequestOptions {
    const headers: Record<string, string | string[]> = { ...step.headers };
    if (step.accept !== undefined) headers['accept'] = acceptTypes[step.accept] ?? step.accept;
    if (step.PATCH !== undefined) headers['content-type'] = patchTypes[step.as ?? 'merge'] ?? (step.as as string);
    if (step.contentType !== undefined) headers['content-type'] = step.contentType;
    const token =
      step.token === 'stranger' ? this.#stage.strangerToken : step.token === 'none' ? null : (step.token ?? undefined);
    return {
      headers,
      ...(step.body === undefined ? {} : { body: step.body }),
      ...(step.base64 === undefined ? {} : { body: Buffer.from(step.base64, 'base64') }),
      ...(token === undefined ? {} : { token }),
    };
  }

  #shown(name: string, step: Step, answer: Answer): Shown {
    const shown: Shown = { step: name, status: answer.status };
    const type = answer.headers['content-type'];
    if (type !== undefined) shown.type = String(type);
    const warnings = answer.headers['warning'];
    if (warnings !== undefined) shown.warnings = [warnings].flat();
    const location = answer.headers['location'];
    if (location !== undefined) shown.location = this.#normaliser.text(String(location));
    const body =
      answer.json === undefined
        ? this.#normaliser.text(answer.text)
        : this.#normaliser.normalise(answer.json, { managedFields: step.managedFields ?? false });
    if (step.only === undefined) shown.body = body;
    else shown.body = Object.fromEntries(step.only.map((path) => [path, at(body, path)]));
    return shown;
  }

  #save(step: Step, answer: Answer): void {
    this.#saveFrom(step, answer.json);
  }

  #saveFrom(step: Step, value: unknown): void {
    for (const [name, path] of Object.entries(step.save ?? {})) {
      const found = at(value, path);
      if (found !== undefined && found !== null) this.#values.set(name, String(found));
    }
  }

  #filledIn(value: unknown): unknown {
    if (typeof value === 'string')
      return value.replace(/\$([a-zA-Z]\w*)/g, (whole, name: string) =>
        name === 'i' ? whole : (this.#values.get(name) ?? whole),
      );
    if (Array.isArray(value)) return value.map((item) => this.#filledIn(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, key === 'save' ? member : this.#filledIn(member)]),
    );
  }
}

/** A path without a leading slash belongs to the core group, in the namespace of the case. */
function pathOf(written: string, namespace: string): string {
  return written.startsWith('/') ? written : `/api/v1/namespaces/${namespace}/${written}`;
}

/** Names are separated by dots; a name with a dot is written in brackets. */
function at(value: unknown, path: string): unknown {
  let current = value;
  for (const match of path.matchAll(/\[([^\]]+)\]|[^.[\]]+/g)) {
    if (current === null || typeof current !== 'object') return undefined;
    current = (current as Record<string, unknown>)[match[1] ?? match[0]];
  }
  return current;
}

/** Checks a rule for every list: no item is newer than the list itself. */
function checkList(body: unknown): void {
  const list = body as {
    metadata?: { resourceVersion?: string };
    items?: { metadata?: { resourceVersion?: string } }[];
  };
  if (!Array.isArray(list?.items) || !list.metadata?.resourceVersion) return;
  const version = BigInt(list.metadata.resourceVersion);
  for (const item of list.items) {
    if (BigInt(item.metadata?.resourceVersion ?? 0) > version)
      throw new Error(`a list of resourceVersion ${version} holds an object of ${item.metadata?.resourceVersion}`);
  }
}
