import { afterEach, describe, expect, it } from 'vitest';
import { objectMain } from '../../../src/pages/status/object-page.ts';
import { objectLink, objectPath } from '../../../src/pages/status/object-paths.ts';
import { statusMain } from '../../../src/pages/status/status-page.ts';
import { attentionIn, attentionOf } from '../../../src/sync/report/attention/attention.ts';
import { objectRemedies, unreadRemedy } from '../../../src/sync/report/attention/remedies.ts';
import { createPageFacts } from '../../../src/sync/report/look/page-facts.ts';
import { joinedStatus, objectStatus } from '../../../src/sync/report/object-status.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { textOf } from '../../pages/fields.ts';
import { hostSecret, type ReferenceOptions, secret } from '../references/fake-references.ts';
import { start, world } from '../references/reference-stage.ts';

afterEach(() => world.stop());

/** A host on which no Secret may be made. */
async function begin(given: ReferenceOptions, annotations: Record<string, string>, secrets: readonly string[]) {
  await start(given, (on) => {
    const writer = on.host.writer();
    on.host.writer = () => ({
      ...writer,
      create: async (ref, object) =>
        ref.resource === 'secrets'
          ? { kind: 'forbidden', message: 'secrets is forbidden', namespaceTerminating: false }
          : writer.create(ref, object),
    });
    for (const name of secrets) on.virtual.put('secrets', secret(name));
    on.refer(annotations);
  });
  const facts = createPageFacts({
    clock: world.clock,
    syncs: () => [world.sync],
    contents: () => world.references.syncs,
    referrersOf: (reference) => world.references.registry.referrersOf(reference),
  });
  const pageOf = async (key: string) =>
    objectMain(key, await facts.details(key), {
      kind: undefined,
      command: 'status',
      remediesFor: (object) => objectRemedies({ status: {}, address: undefined }, object),
      unreadRemedy: (sentence) => unreadRemedy({ status: {}, address: undefined }, sentence),
    }).text;
  return {
    facts,
    pageOf,
    told: (): StatusJson => JSON.parse(JSON.stringify({ references: world.references.status() })),
  };
}

const absent =
  'the virtual cluster does not have it, and the host has none of this name with the label hostward.dev/importable=true';
const refusal = 'the host cluster does not allow "create" on secrets';

describe('a reference whose content the host refuses', () => {
  it('wants the right that is missing, as an object and an outage with the same message do', async () => {
    const { told } = await begin({}, { k: 'db' }, ['db']);
    const right =
      'grant "create" of secrets in the host cluster; this grants all that is missing, with a kubectl of an administrator of the host cluster';
    const trouble = [{ object: 'default/web', state: 'refused/Forbidden', message: refusal }];
    const outages = [{ cluster: 'host', kind: 'unwritable', seconds: 1, message: refusal }];
    const items = attentionOf({ ...told(), trouble, outages });
    expect(items.map(({ about, reason, remedy }) => [about, reason, remedy])).toEqual([
      ['host cluster', 'unwritable', right],
      ['default/web', 'Forbidden', right],
      ['Secret default/db', 'Forbidden', right],
    ]);
    expect(new Set(items.map(({ command }) => command)).size).toBe(1);
  });

  it('shows with the object that names it, which is not well', async () => {
    const { facts, pageOf } = await begin({}, { k: 'db' }, ['db']);
    expect(objectStatus(world.sync, 'default/web')).toMatchObject({
      state: 'inSync/ReferenceRefused',
      message: `Secret default/db: ${refusal}`,
      references: [{ object: 'Secret default/db', standing: 'refused/Forbidden', message: refusal }],
    });
    const page = await pageOf('default/web');
    expect(page).toContain('class="verdict bad"><strong>inSync/ReferenceRefused</strong>');
    expect(page).toContain('<a href="/objects/default/db?kind=Secret">Secret default/db</a>');
    expect(page).toContain('grant &quot;create&quot; of secrets in the host cluster');
    expect((await facts.page({ state: 'inSync/ReferenceRefused', limit: 9 })).rows).toMatchObject([
      { object: 'default/web', state: 'inSync/ReferenceRefused' },
    ]);
  });

  it('is known by its own name, on the page and to the command', async () => {
    const { facts, pageOf } = await begin({}, { k: 'db' }, ['db']);
    const page = await pageOf('default/db');
    expect(page).toContain('class="verdict bad"><strong>refused/Forbidden</strong>');
    expect(page).toContain('Endpoints default/web');
    expect(joinedStatus([objectStatus(world.sync, 'default/db')], facts.contents('default/db'))).toMatchObject({
      kind: 'Secret',
      object: 'default/db',
      state: 'refused/Forbidden',
      referredToBy: ['Endpoints default/web'],
    });
  });

  it('counts all of a reason, also where the list of them is cut', async () => {
    const names = Array.from({ length: 130 }, (_, at) => `db-${at}`);
    const { told } = await begin({}, {}, names);
    for (const name of names) world.refer({ k: name }, `web-${name}`);
    world.refer({ c: 'none' }, 'other');
    await world.quiet();
    expect(attentionIn(told()).groups.map(({ reason, count }) => `${count} ${reason}`)).toEqual([
      '130 Forbidden',
      '1 unresolved',
    ]);
  });
});

describe('a reference that leads nowhere', () => {
  it('shows with the object that names it, and by its own name', async () => {
    const { pageOf, told } = await begin({}, { k: 'none' }, []);
    expect(objectStatus(world.sync, 'default/web')).toMatchObject({
      state: 'inSync/ReferenceUnresolved',
      message: `Secret default/none: ${absent}`,
    });
    expect(await pageOf('default/none')).toContain(`<strong>unresolved</strong>: ${absent}`);
    const [item] = attentionOf({ ...told(), virtualCluster: 'vc' });
    expect([item?.remedy, item?.command]).toEqual([
      'create the object, correct the name that the patch reads, or label the object of the host; this lists what is there',
      'kubectl --namespace default get secret',
    ]);
  });
});

describe('a reference to what may not be read', () => {
  const refused = {
    message: 'secrets is forbidden: User "u" cannot list resource "secrets" in API group "" at the cluster scope',
    ...{ sinceMs: 0, unservedMs: 0, isAnswered: true, isForbidden: true },
  };
  const unread = 'the virtual cluster does not allow "list" on secrets, so it is not known whether it exists';
  const grant =
    'grant "list" of secrets in the virtual cluster; this grants all that is missing, with a kubectl of an administrator of the virtual cluster';
  const blind = (window: string, trouble: object = refused) => {
    (world.contentWindows.get(window) as { trouble: unknown }).trouble = trouble;
  };

  it('is not said to lead nowhere: it says what cannot be read, and how to get the right', async () => {
    const { facts, pageOf, told } = await begin({}, { k: 'seen' }, ['seen']);
    blind('virtual secrets');
    await world.change(() => world.refer({ k: 'new' }, 'other'));
    expect(objectStatus(world.sync, 'default/other')).toMatchObject({
      state: 'inSync/ReferenceUnread',
      message: `Secret default/new: ${unread}`,
      references: [{ object: 'Secret default/new', standing: 'unread', message: unread }],
    });
    for (const [key, state] of [
      ['default/new', 'unread'],
      ['default/other', 'inSync/ReferenceUnread'],
    ] as const) {
      const page = await pageOf(key);
      expect(page).toContain(`class="verdict bad"><strong>${state}</strong>`);
      expect(textOf(page)).toContain(unread);
      expect(textOf(page)).toContain(grant);
      expect(textOf(page)).toMatch(/hostward doctor .*--rights virtual \| kubectl auth reconcile -f -/);
    }
    expect(await pageOf('default/seen')).toContain('This may be what was true before: the virtual cluster does not');
    // Who refers to it may be as wrong about it.
    expect(objectStatus(world.sync, 'default/web')?.unread).toEqual([
      'the virtual cluster does not allow "list" on secrets',
    ]);
    expect(await pageOf('default/web')).toContain('This may be what was true before: the virtual cluster does not');
    expect(objectStatus(world.sync, 'default/other')?.unread).toBeUndefined();
    expect(await pageOf('default/nowhere')).toContain('it is not known whether there is one: the virtual cluster');
    expect((await facts.page({ state: 'inSync/ReferenceUnread', limit: 9 })).matching).toBe(1);
    expect(told()).toMatchObject({
      references: { Secret: { unresolved: 0, unread: 1, troubleByState: { unread: 1 } } },
    });
    expect([...world.references.gaps]).toContainEqual(['ReferenceUnread', 1]);
    // Of the first Secret the right to copy it is missing.
    expect(attentionOf(told())).toMatchObject([
      { about: 'Secret default/seen', reason: 'Forbidden' },
      { about: 'Secret default/new', reason: 'unread', remedy: grant },
    ]);
    expect(world.virtual.list('events').map(({ message }) => message)).toContain(
      `Nothing is known to stand behind the reference to Secret "new": ${unread}`,
    );
  });

  it('says so of the host, and of a cluster that does not answer', async () => {
    const { pageOf } = await begin({}, { k: 'new' }, []);
    blind('importable secrets');
    expect(await pageOf('default/new')).toContain('the host cluster does not allow &quot;list&quot; on secrets');
    blind('importable secrets', { ...refused, isForbidden: false, message: 'no answer' });
    const page = await pageOf('default/new');
    expect(page).toContain('secrets of the host cluster cannot be read now, so it is not known whether it exists');
    expect(page).toContain('see whether the API server answers, and to whom');
  });
});

it('gives a remedy for each troubled reference', async () => {
  const { pageOf } = await begin({}, { k: 'none', c: 'gone' }, []);
  const page = await pageOf('default/web');
  expect(page).toContain('<code>kubectl --namespace default get secret</code>');
  expect(page).toContain('<code>kubectl --namespace default get configmap</code>');
});

describe('a reference by a name that no object can have', () => {
  it('is no link, which a browser would take elsewhere, and wants another name', async () => {
    const { pageOf, told } = await begin({}, { k: '../../metrics' }, []);
    const page = await pageOf('default/web');
    expect(page).toContain('Secret default/../../metrics: no object can have this name');
    expect(page).toContain('correct in the tenant&#39;s object the name that the patch reads');
    expect(page).not.toMatch(/href="[^"]*metrics/);
    const { text } = statusMain(told(), [], { asOf: new Date(0) });
    expect(text).toContain('default/web refers to it and no object can have this name</p>');
    expect(text).not.toMatch(/href="[^"]*metrics/);
  });

  it.each(['shop/..', 'shop/.', 'shop/a/b', '../x', 'shop/', 'shop', 'shop/<b>'])('as %s', (key) => {
    expect(objectPath(key, 'Secret')).toBeUndefined();
    expect(objectLink(`Secret ${key}`, key).text).not.toContain('href');
  });

  it('while dots inside a name are as good as any letter', () => {
    expect(objectPath('shop/a..b.c')).toBeUndefined();
    expect(objectPath('shop/a.b', 'Secret')).toBe('/objects/shop/a.b?kind=Secret');
  });
});

it('the metrics count the references with nothing behind them, as the status does', async () => {
  const { told } = await begin({}, { k: 'none' }, []);
  const series = async () => {
    world.references.setGauges({ isCounted: true });
    return (await world.metrics.metrics()).match(
      /^hostward_reference_objects\{kind="Secret",state="unresolved"\} (\d+)$/m,
    );
  };
  expect(told()).toMatchObject({ references: { Secret: { unresolved: 1 } } });
  expect((await series())?.[1]).toBe('1');
  await world.change(() => world.virtual.put('secrets', secret('none')));
  expect((await series())?.[1]).toBe('0');
});

describe('keys, sizes and digests without a value', () => {
  it('of an imported object on both sides', async () => {
    const { facts, pageOf } = await begin({}, { k: 'shared' }, []);
    await world.change(() => world.host.put('secrets', hostSecret('shared')));
    const [detail] = facts.contents('default/shared');
    expect(detail).toMatchObject({
      state: 'imported',
      virtual: { keys: [{ key: 'value', bytes: 4 }] },
      host: { object: 'vcluster-vc/shared', keys: [{ key: 'value', bytes: 4 }] },
    });
    expect(detail?.virtual?.digest).toBe(detail?.host?.digest);
    expect(await pageOf('default/shared')).not.toContain('aG9zdA');
  });

  it('of an object that was refused, and has no copy', async () => {
    const { facts, pageOf } = await begin({}, { k: 'db' }, ['db']);
    expect(facts.contents('default/db')).toMatchObject([
      { state: 'refused/Forbidden', virtual: { keys: [{ key: 'value', bytes: 2 }] } },
    ]);
    expect(await pageOf('default/db')).not.toContain('djE=');
  });
});

describe('content that only waits', () => {
  it('needs no person in a dry run', async () => {
    const { told } = await begin({ isDryRun: true }, { k: 'db' }, ['db']);
    expect(told()).toMatchObject({ references: { Secret: { waiting: 1, trouble: [{ state: 'waiting/DryRun' }] } } });
    expect(attentionOf(told())).toEqual([]);
  });
});
