// The packed table of keys beside a plain map: the same facts by name, id and supplied value, whatever was added, replaced and removed.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyTable, properties } from '../../../src/management/keys/book/key-table.ts';
import type { KeyFacts } from '../../../src/management/keys/life/key-facts.ts';
import { keyFacts } from '../../../src/management/keys/life/key-facts.ts';
import { RecentScopes } from '../../../src/management/keys/life/recent-scopes.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';
import { sampled } from '../../sampled.ts';

const text = fc.oneof(fc.constantFrom('ci', 'deploy', 'kü', '\u{1f600}', ''), fc.string({ maxLength: 6 }));
const named = fc.record({ name: text, uid: fc.oneof(fc.uuid(), text) });
const secret = fc.record({
  version: fc.integer({ min: 1, max: 3 }),
  digest: fc.oneof(
    fc.constant('0f'.repeat(32)),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
    text,
  ),
  validUntilMs: fc.option(fc.integer({ min: 0, max: 2 ** 41 }), { nil: undefined }),
  isSupplied: fc.boolean(),
});
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const key = fc.record({
  uid: fc.oneof(fc.uuid(), text),
  id: text,
  secrets: fc.array(secret, { maxLength: 2 }),
  subject: fc.record({
    kind: fc.constantFrom('user' as const, 'team' as const, 'subject' as const),
    name: text,
    uid: fc.uuid(),
  }),
  grantedGroups: fc.array(text, { maxLength: 2 }),
  madeBy: optional(named),
  createdBy: optional(named),
  holder: optional(named),
  formerHolder: optional(named),
  kubeconfig: optional(fc.record({ project: text, virtualCluster: text, instance: fc.uuid() })),
  isExpiryTold: optional(fc.constant(true as const)),
  tokenGeneration: fc.integer({ min: 1, max: 5 }),
  spec: fc.record({
    ttl: optional(fc.integer({ min: 0, max: 100 })),
    ttlAfterLastActivity: fc.boolean(),
    disabled: fc.boolean(),
    groups: fc.array(text, { maxLength: 2 }),
    scope: optional(fc.record({ projects: fc.array(fc.record({ project: text }), { maxLength: 2 }) })),
  }),
  isDeleted: fc.boolean(),
  networks: optional(fc.constantFrom('10.0.0.0/8', '10.0.0.0/8,fd00::/8')),
});
const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('put' as const), name: fc.nat({ max: 30 }), key }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('remove' as const), name: fc.nat({ max: 30 }) }) },
);

function factsOf(
  name: string,
  { spec, isDeleted, networks, ...given }: typeof key extends fc.Arbitrary<infer T> ? T : never,
  scopes: RecentScopes,
): KeyFacts {
  const { createdBy, holder, formerHolder, kubeconfig, isExpiryTold, ...record } = given;
  const full: KeyRecord = {
    name,
    ...record,
    ...(createdBy !== undefined && { createdBy }),
    ...(holder !== undefined && { holder }),
    ...(formerHolder !== undefined && { formerHolder }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(isExpiryTold !== undefined && { isExpiryTold }),
  };
  const metadata = {
    name,
    creationTimestamp: '2026-01-02T03:04:05Z',
    ...(isDeleted && { deletionTimestamp: '2026-01-02T03:04:06Z' }),
    ...(networks !== undefined && { annotations: { 'hostward.dev/allowed-cidrs': networks } }),
  };
  return keyFacts({ metadata, spec } as Parameters<typeof keyFacts>[0], full, scopes);
}

/** As data: a scope reads itself when it is asked for. */
function shown({ scoped, networks, ...facts }: KeyFacts): unknown {
  return { ...facts, scope: scoped?.value, networks: networks?.list };
}

describe('KeyTable', () => {
  it('has the same keys as a map, by name, id and supplied value, after any changes', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
        const scopes = new RecentScopes();
        const table = new KeyTable(scopes);
        const model = new Map<string, KeyFacts>();
        for (const [at, step] of commands.entries()) {
          const name = `key-${step.name}`;
          table.remove(name);
          model.delete(name);
          if (step.does === 'remove') continue;
          const facts = factsOf(name, { ...step.key, id: step.key.id + name }, scopes);
          table.add(facts, { viewSince: at, bytes: at * 7 });
          model.set(name, facts);
          expect(table.noted(name)).toEqual({ viewSince: at, bytes: at * 7 });
        }
        expect(table.size).toBe(model.size);
        const byName = (all: Iterable<KeyFacts>) =>
          [...all].map(shown).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
        expect(byName(table.all())).toEqual(byName(model.values()));
        for (const [name, facts] of model) {
          expect(shown(table.byName(name) as KeyFacts)).toEqual(shown(facts));
          expect(table.byId(facts.record.id)?.name).toBe(name);
          for (const { isSupplied, version, digest } of facts.record.secrets) {
            const found = table.bySupplied({ version, digest })?.record.secrets ?? [];
            if (isSupplied)
              expect(found.some((one) => one.isSupplied && one.digest === digest && one.version === version)).toBe(
                true,
              );
          }
        }
        for (const name of ['key-31', ''])
          expect([table.byName(name), table.byId(name), table.noted(name)]).toEqual([undefined, undefined, undefined]);
        const ending = [...model.values()].filter(({ times }) => times.ttl > 0);
        expect(byName(table.all(properties.ends))).toEqual(byName(ending));
      }),
      { numRuns: sampled(200) },
    );
  });

  it('takes at most 250 bytes for an ordinary key, and gives the room of removed keys to new ones', () => {
    const scopes = new RecentScopes();
    const table = new KeyTable(scopes);
    const hex = (n: number, digits: number) => n.toString(16).padStart(digits, '0');
    const add = (n: number) =>
      table.add(
        factsOf(
          `pipeline-${n}`,
          {
            uid: `${hex(n, 8)}-0000-4000-8000-${hex(n, 12)}`,
            id: hex(n, 17),
            secrets: [{ version: 1, digest: hex(n, 64), validUntilMs: undefined, isSupplied: false }],
            subject: { kind: 'user', name: `owner-${n % 500}`, uid: `${hex(n % 500, 8)}-0000-4000-8000-000000000000` },
            grantedGroups: [],
            madeBy: undefined,
            createdBy: { name: 'root', uid: 'b9f10000-0000-4000-8000-000000000000' },
            holder: { name: `owner-${n % 500}`, uid: `${hex(n % 500, 8)}-0000-4000-8000-000000000000` },
            formerHolder: undefined,
            kubeconfig: undefined,
            isExpiryTold: undefined,
            tokenGeneration: 1,
            spec: {
              ttl: 86_400,
              ttlAfterLastActivity: false,
              disabled: false,
              groups: [],
              scope: { projects: [{ project: `p-${n % 20}` }] },
            },
            isDeleted: false,
            networks: undefined,
          },
          scopes,
        ),
        { viewSince: n, bytes: 1000 },
      );
    const count = 50_000;
    for (let n = 0; n < count; n++) add(n);
    expect(table.bytes / count).toBeLessThan(250);
    const before = table.bytes;
    for (let n = 0; n < count; n += 2) table.remove(`pipeline-${n}`);
    for (let n = 0; n < count; n += 2) add(n + count);
    expect(table.bytes).toBeLessThan(before * 1.05);
    expect([table.size, table.byName(`pipeline-${count + 2}`)?.record.id]).toEqual([count, hex(count + 2, 17)]);
  });
});
