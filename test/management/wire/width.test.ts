// Whatever a key makes, changes or rotates, nothing that it gets hold of reaches what the key itself could not reach. The moves
// are real requests over TLS; what a key reaches is answered by the model of another hand, on all targets.
import { assert, asyncProperty } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MatrixCase, MatrixConfiguration, MatrixKey, MatrixRequest } from '../matrix-case.ts';
import { aimRequest, aimTarget } from '../model/aim.ts';
import { configurationOf } from '../model/cases/configuration-cases.ts';
import { requestOf, targetKinds, targetOf } from '../model/cases/request-cases.ts';
import { Dice } from '../model/dice.ts';
import { modelReview } from '../model/model.ts';
import { directoryOf } from '../scope/scopes.ts';
import { type Bench, type Body, keysPath, openBench } from '../server/bench.ts';
import { TlsClient, type WireAnswer } from './tls-client.ts';
import { type Move, moves, type SpecEdit, type Start, scopeOf, starts } from './width-moves.ts';

/** Both can be raised for a longer run. */
const runs = Number(process.env['HOSTWARD_WIDTH_RUNS'] ?? 20);
const seed = Number(process.env['HOSTWARD_WIDTH_SEED'] ?? 7);
const requestsOfAKey = 60;

/** A key that the sequence can use: its value, and the facts that the model wants beside its object. */
interface Held {
  name: string;
  value: string;
  madeBy: string | undefined;
}

/** Of `keys.perOwner`: a long sequence must not end at the quota. */
const perOwner = 100_000;

let bench: Bench;
let client: TlsClient;
let count = 0;
const tally = { made: 0, refused: 0, rotated: 0, edited: 0 };

beforeAll(async () => {
  bench = await openBench();
  client = new TlsClient(bench.api.port, bench.api.caPem);
});
afterAll(async () => {
  client.close();
  await bench.stop();
});

function ask(key: string, method: string, path: string, body?: object, type?: string): Promise<WireAnswer> {
  const rest = { ...(body === undefined ? {} : { body }), ...(type === undefined ? {} : { type }) };
  return client.ask(key, { method, path: keysPath + path, ...rest });
}

function specOf(
  { scope, subject, groups, time }: Pick<Start, 'scope' | 'subject' | 'groups' | 'time'>,
  ofMaker?: MatrixKey['scope'],
): object {
  const narrowed = scopeOf(scope, ofMaker);
  return { ...subject, groups, ...time, ...(narrowed === undefined ? {} : { scope: narrowed }) };
}

function change(body: Body, edit: SpecEdit): Body {
  const value = wantedValue(edit);
  const spec: Record<string, unknown> = { ...body['spec'], [edit.field]: value };
  if (value === undefined) delete spec[edit.field];
  return { ...body, spec } as Body;
}

function wantedValue({ field, scope, groups, number }: SpecEdit): unknown {
  switch (field) {
    case 'scope':
      return scopeOf(scope, undefined);
    case 'groups':
      return groups;
    case 'ttl':
      return number;
    case 'ttlAfterLastActivity':
      return number > 0;
    case 'disabled':
      return number > 100;
    case 'user':
      return 'root';
    case 'type':
      return 'Login';
    default:
      return field satisfies never;
  }
}

/** One sequence with keys of its own. */
class Sequence {
  readonly #held: Held[] = [];
  /** Every key that there is, as the model wants it. */
  readonly #facts = new Map<string, MatrixKey>();
  readonly #number = ++count;

  async key(by: string, name: string, spec: object, madeBy?: string): Promise<Held | undefined> {
    const full = `${name}-${this.#number}`;
    const { code, body } = await ask(by, 'POST', '', { metadata: { name: full }, spec });
    if (code !== 201) return undefined;
    await this.#look(full, { madeBy, isGranted: by === bench.admin });
    return { name: full, value: String(body['spec']?.['key']), madeBy };
  }

  /** The object as an administrator sees it. */
  async #look(name: string, how: { madeBy: string | undefined; isGranted: boolean }): Promise<void> {
    const { body } = await ask(bench.admin, 'GET', `/${name}`);
    const spec = body['spec'] as Partial<MatrixKey> | undefined;
    const before = this.#facts.get(name);
    const granted = how.isGranted ? (spec?.groups ?? []) : [];
    const creationTimestamp = String(body['metadata']?.['creationTimestamp']);
    this.#facts.set(name, {
      ...spec,
      name,
      creationTimestamp,
      grantedGroups: before?.grantedGroups ?? granted,
      ...(how.madeBy === undefined ? {} : { madeBy: how.madeBy }),
    });
  }

  hold(held: Held): void {
    this.#held.push(held);
  }

  get held(): readonly Held[] {
    return this.#held;
  }

  facts(): MatrixKey[] {
    return [...this.#facts.values()];
  }

  isScoped(name: string): boolean {
    const facts = this.#facts.get(name);
    return facts !== undefined && (facts.scope !== undefined || facts.madeBy !== undefined);
  }

  async play(move: Move): Promise<void> {
    const by = this.#held[move.by % this.#held.length] as Held;
    if (move.kind === 'make') {
      const made = await this.key(
        by.value,
        `made${this.#facts.size}`,
        specOf(move, this.#facts.get(by.name)?.scope),
        this.isScoped(by.name) ? by.name : undefined,
      );
      tally[made === undefined ? 'refused' : 'made']++;
      if (made !== undefined) this.#held.push(made);
      return;
    }
    const names = [...this.#facts.keys()];
    const name = names[move.of % names.length] as string;
    if (move.kind === 'rotate') {
      const { code, body } = await ask(by.value, 'POST', `/${name}/rotate`, { spec: { overlapSeconds: 600 } });
      tally[code === 201 ? 'rotated' : 'refused']++;
      // Who gets the new value has the key, whoever made it.
      const madeBy = this.#facts.get(name)?.madeBy;
      if (code === 201) this.#held.push({ name, value: String(body['status']?.['key']), madeBy });
      return;
    }
    const code = await this.#edit(by.value, name, move);
    tally[code === 200 ? 'edited' : 'refused']++;
    const madeBy = this.#facts.get(name)?.madeBy;
    if (code === 200) await this.#look(name, { madeBy, isGranted: false });
  }

  async #edit(by: string, name: string, { language, spec }: Extract<Move, { kind: 'edit' }>): Promise<number> {
    const value = wantedValue(spec);
    switch (language) {
      case 'merge': {
        // A merge patch alone would keep the entries of the old scope.
        const body = { spec: { [spec.field]: value ?? null } };
        return (await ask(by, 'PATCH', `/${name}`, body, 'application/merge-patch+json')).code;
      }
      case 'json': {
        const path = `/spec/${spec.field}`;
        const body = value === undefined ? [{ op: 'remove', path }] : [{ op: 'add', path, value }];
        return (await ask(by, 'PATCH', `/${name}`, body, 'application/json-patch+json')).code;
      }
      case 'put': {
        const { code, body } = await ask(by, 'GET', `/${name}`);
        return code === 200 ? (await ask(by, 'PUT', `/${name}`, change(body, spec))).code : code;
      }
      case 'apply': {
        const body = {
          apiVersion: 'management.platform/v1',
          kind: 'OwnedAccessKey',
          metadata: { name },
          spec: value === undefined ? {} : { [spec.field]: value },
        };
        const query = '?fieldManager=sequence&force=true';
        return (await ask(by, 'PATCH', `/${name}${query}`, body, 'application/apply-patch+yaml')).code;
      }
      default:
        return language satisfies never;
    }
  }
}

/** Requests on all targets, aimed at the scope. None names a key: who makes a key may do with it what its scope allows. */
function requestsFor(scope: MatrixKey['scope'], dice: Dice): MatrixRequest[] {
  return Array.from({ length: requestsOfAKey }, () => {
    const target = aimTarget(targetOf(dice.pick(targetKinds), dice), scope ?? {}, dice);
    return aimRequest(requestOf(target, dice), scope ?? {}, dice);
  }).filter((request) => !request.isResource || request.resource !== 'ownedaccesskeys' || request.name === '');
}

function caseOf(
  configuration: MatrixConfiguration,
  keys: MatrixKey[],
  caller: string,
  now: string,
): Omit<MatrixCase, 'request'> {
  return { configuration, keys, caller, now };
}

/** When the key ends, if its end does not move. */
function endOf({ ttl = 0, ttlAfterLastActivity, creationTimestamp }: MatrixKey): string | undefined {
  if (ttl === 0 || ttlAfterLastActivity === true) return undefined;
  return new Date(Date.parse(creationTimestamp) + ttl * 1000).toISOString();
}

async function faultsOf(start: Start, played: readonly Move[]): Promise<string[]> {
  const dice = new Dice(start.seed);
  const configuration = configurationOf(dice);
  await bench.api.apply({
    ...directoryOf(JSON.stringify({ hostward: { management: configuration } })).settings,
    keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner },
  });
  const sequence = new Sequence();
  // Keys that are wider than most, within sight of the first one.
  await sequence.key(bench.admin, 'wide', { user: 'alice' });
  await sequence.key(bench.admin, 'granted', { user: 'alice', groups: ['chiefs'] });
  await sequence.key(bench.admin, 'teams', { team: 'red', groups: ['ops'] });
  await sequence.key(bench.admin, 'bobs', { user: 'bob', scope: { rules: [{}] } });
  const first = await sequence.key(bench.admin, 'first', specOf(start));
  if (first === undefined) return [];
  sequence.hold(first);
  const before = sequence.facts();
  const firstFacts = before.find(({ name }) => name === first.name) as MatrixKey;
  for (const move of played) await sequence.play(move);

  const faults: string[] = [];
  const nowText = new Date().toISOString();
  const after = sequence.facts();
  const end = endOf(firstFacts);
  for (const { name } of sequence.held) {
    const facts = after.find((key) => key.name === name) as MatrixKey;
    for (const request of [...requestsFor(facts.scope, dice), ...requestsFor(firstFacts.scope, dice)]) {
      const could = modelReview({ ...caseOf(configuration, before, first.name, nowText), request });
      const can = modelReview({ ...caseOf(configuration, after, name, nowText), request });
      if (can === 'yes' && could !== 'yes')
        faults.push(
          `${name} can ${JSON.stringify(request)}, ${first.name} could not: ${JSON.stringify([facts, firstFacts])}`,
        );
    }
    if (end === undefined) continue;
    // Used all the time, it has still ended when the first key has.
    const used = after.map((key) => ({ ...key, lastActivity: end }));
    const request = requestsFor(undefined, dice)[0] as MatrixRequest;
    if (modelReview({ ...caseOf(configuration, used, name, end), request }) !== 'dead')
      faults.push(`${name} lives longer than ${first.name}: ${JSON.stringify([facts, firstFacts])}`);
  }
  return faults;
}

describe('the width of keys', () => {
  it(`no key gets hold of more than it has, whatever it makes, changes and rotates, in ${runs} sequences`, async () => {
    const property = asyncProperty(starts, moves, async (start, played) => {
      expect((await faultsOf(start, played)).slice(0, 2).join('\n')).toBe('');
    });
    await assert(property, { numRuns: runs, seed, endOnFailure: false });
  }, 600_000);

  it('tried enough that was allowed, and enough that was refused', () => {
    expect(tally.made).toBeGreaterThan(runs / 3);
    expect(tally.edited).toBeGreaterThan(runs / 6);
    expect(tally.rotated).toBeGreaterThan(runs / 10);
    expect(tally.refused).toBeGreaterThan(runs);
  });
});
