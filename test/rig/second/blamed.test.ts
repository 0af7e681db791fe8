// Ends that the model once blamed the daemon for, and that DESIGN allows. Beside each stands an end that the same rules forbid: an excuse that
// reaches further than its rule is a hole in the net.
import { describe, expect, it } from 'vitest';
import { expectationOf } from '../model/model.ts';
import { generatedName } from '../model/words/names.ts';
import type { CalmPoint, Deed, Json, PlainObject } from '../model/words/types.ts';
import { judge } from '../oracles/judge.ts';

type Texts = Readonly<Record<string, string>>;

const place = { namespace: 'vcluster-vc', name: 'web-x-t1-x-vc' };
const web = { namespace: 't1', name: 'web' };
const base = { 'hostward.dev/base': '2;;' };
const skips = { 'vcluster.loft.sh/skip-backsync': 'true' };
const six = {
  'vcluster.loft.sh/object-name': web.name,
  'vcluster.loft.sh/object-namespace': web.namespace,
  'vcluster.loft.sh/object-uid': 'virtual',
  'vcluster.loft.sh/object-kind': '/v1, Kind=Endpoints',
  'vcluster.loft.sh/object-host-name': place.name,
  'vcluster.loft.sh/object-host-namespace': place.namespace,
};
const marks = { 'vcluster.loft.sh/managed-by': 'vc', 'vcluster.loft.sh/namespace': 't1' };

function object(kind: 'Endpoints' | 'Service' | 'Secret', metadata: object, key = ''): PlainObject {
  const about = { resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata };
  const subsets = [{ addresses: [{ ip: '10.0.0.9' }], ports: [{ port: 80, protocol: 'TCP' }] }];
  const payload = { Service: { spec: {} }, Endpoints: { subsets }, Secret: { type: 'Opaque', data: { key } } }[kind];
  return { apiVersion: 'v1', kind, ...payload, metadata: about } as never;
}

const service = object('Service', { ...web, uid: 'service' });
const virtual = (labels: Texts = {}): PlainObject => object('Endpoints', { ...web, uid: 'virtual', labels });
const copy = (labels: Texts = {}, annotations: Texts = base): PlainObject =>
  object('Endpoints', {
    ...place,
    uid: 'copy',
    labels: { ...marks, ...labels },
    annotations: { ...six, ...annotations },
  });

const change = (side: Deed['side'], atMs: number, before?: PlainObject, after?: PlainObject): Deed => {
  const verb = before === undefined ? 'create' : after === undefined ? 'delete' : 'change';
  return { side, verb, atMs, ...(before && { before }), ...(after && { after }) };
};

interface Settings {
  patches?: readonly { readonly [key: string]: Json }[];
  hostward?: { readonly [key: string]: Json };
}

interface Given {
  before: [virtual: readonly PlainObject[], host: readonly PlainObject[]];
  deeds: readonly Deed[];
  now: [virtual: readonly PlainObject[], host: readonly PlainObject[]];
  /** Since 0, and each later one since a time of its own. */
  configurations?: readonly [sinceMs: number, settings: Settings][];
  absences?: CalmPoint['absences'];
}

function wrongWith({ before, deeds, now, configurations = [[0, {}]], absences = [] }: Given): string[] {
  const holding = ([ofTenant, ofHost]: Given['now']) => ({ virtual: ofTenant, host: ofHost });
  const inForce = configurations.map(([sinceMs, { patches = [], hostward = {} }]) => ({
    sinceMs,
    configuration: {
      sync: { toHost: { endpoints: { enabled: true, patches }, secrets: { enabled: true } } },
      ...{ experimental: { syncSettings: { setOwner: false } }, hostward },
    },
  }));
  const point: CalmPoint = {
    ...{ virtualCluster: 'vc', hostNamespace: place.namespace, deeds, absences, hasSeenAll: true },
    ...{ before: holding(before), now: holding(now), configurations: inForce as never },
  };
  return judge(expectationOf(point), point.now).map(({ what }) => what.slice(0, 200));
}

describe('3.8 and 4.5: what a former configuration has carried back', () => {
  const owned = { patches: [{ path: 'metadata.labels["team"]', reverseExpression: 'value + "-host"' }] };
  const given = (absences: CalmPoint['absences'], writtenMs: number, team: string): Given => ({
    before: [[service, virtual({ team: 'a-host' })], [copy({ team: 'a' })]],
    deeds: [change('virtual', writtenMs, virtual({ team: 'a-host' }), virtual({ team: 'b' }))],
    now: [[service, virtual({ team })], [copy({ team })]],
    configurations: [
      [0, owned],
      [100, {}],
    ],
    absences,
  });
  it('stays in the virtual object when a reload takes the patch away', () => {
    expect(wrongWith(given([], 50, 'a-host'))).toEqual([]);
  });
  it('is nothing where no daemon ran until the reload, or where the tenant wrote behind it', () => {
    expect(wrongWith(given([{ fromMs: 40, toMs: 120 }], 50, 'a-host'))).not.toEqual([]);
    expect(wrongWith(given([], 150, 'a-host'))).not.toEqual([]);
    expect(wrongWith(given([{ fromMs: 40, toMs: 120 }], 50, 'b'))).toEqual([]);
  });
});

describe('3.8: without a base', () => {
  const hiding = [{ path: 'metadata.labels["app"]', expression: '"p-" + value' }];
  const configurations: Given['configurations'] = [
    [0, { patches: hiding }],
    [100, { patches: hiding, hostward: { exclude: { labels: ['app'] } } }],
  ];
  const [with_, stripped] = [copy({ app: 'p-one' }), copy({ app: 'p-one' }, {})];
  it('a key that an exclusion takes off stays on the host while the tenant has it, and is hidden where the tenant lacks it', () => {
    const deeds = [change('host', 50, with_, stripped)];
    const standing: Given['now'] = [[service, virtual({ app: 'one' })], [stripped]];
    expect(wrongWith({ before: [standing[0], [with_]], deeds, now: standing, configurations })).toEqual([]);
    const gone: Given['now'] = [[service, virtual()], [stripped]];
    expect(wrongWith({ before: [gone[0], [with_]], deeds, now: gone, configurations })).not.toEqual([]);
  });
  const removed = change('virtual', 60, virtual({ app: 'one' }), virtual());
  const now: Given['now'] = [[service, virtual()], [copy({ app: 'one' })]];
  const before: Given['now'] = [[service, virtual({ app: 'one' })], [copy({ app: 'one' })]];
  const absences = [{ fromMs: 40, toMs: 80 }];
  it('a key that the tenant has removed meanwhile stays on the host; with one it goes', () => {
    const taken = change('host', 50, copy({ app: 'one' }), copy({ app: 'one' }, {}));
    expect(wrongWith({ before, deeds: [taken, removed], now, absences })).toEqual([]);
    expect(wrongWith({ before, deeds: [removed], now, absences })).not.toEqual([]);
  });
  it('the same when the daemon has written another base since, and not when the tenant removed the key behind that', () => {
    const taken = change('host', 50, copy({ app: 'one' }), copy({ app: 'one' }, {}));
    const noted = { ...base, note: 'two' };
    const edited = (atMs: number): Deed => change('host', atMs, copy({ app: 'one' }), copy({ app: 'one' }, noted));
    const carried = { ...virtual(), metadata: { ...virtual().metadata, annotations: { note: 'two' } } };
    const after: Given['now'] = [[service, carried], [copy({ app: 'one' }, noted)]];
    expect(wrongWith({ before, deeds: [removed, taken, edited(200)], now: after, absences })).toEqual([]);
    expect(wrongWith({ before, deeds: [taken, edited(55), removed], now: after })).not.toEqual([]);
  });
});

describe('3.2 and 3.9: a copy with skip-backsync', () => {
  const gone = change('virtual', 20, virtual());
  const before: Given['now'] = [[service, virtual()], [copy({}, { ...base, ...skips })]];
  it.each([
    ['may be gone whose object was left without its Service before it went', 10, true],
    ['stays whose object went first', 30, false],
  ])('%s', (_, serviceMs, isRight) => {
    const deeds = [change('virtual', serviceMs, service), gone].sort((one, other) => one.atMs - other.atMs);
    expect(wrongWith({ before, deeds, now: [[], []] }).length === 0).toBe(isRight);
  });
});

describe('3.4: a native object', () => {
  const native = object('Endpoints', { ...place, uid: 'native' });
  const copied = object('Service', { ...place, uid: 'host-service', annotations: six });
  const ofPeople = object('Service', { ...place, uid: 'host-service' });
  it.each([
    ['may be gone with an object that came and went while the Service beside it was a copy', copied, true],
    ['stays beside a Service of the host’s people', ofPeople, false],
  ])('%s', (_, beside, isRight) => {
    const deeds = [
      change('virtual', 10, undefined, virtual()),
      change('virtual', 20, virtual()),
      ...(beside === copied ? [change('host', 30, copied, ofPeople)] : []),
    ];
    const found = wrongWith({ before: [[service], [beside, native]], deeds, now: [[service], [ofPeople]] });
    expect(found.length === 0).toBe(isRight);
  });
});

describe('3.5: a copy with another uid is rendered as on create', () => {
  const none: Given['configurations'] = [[0, { hostward: { backSync: 'none' } }]];
  const of = (uid: string, labels: Texts): PlainObject => copy(labels, { ...base, 'vcluster.loft.sh/object-uid': uid });
  const mine = { mine: 'own' };
  it.each([
    ['also where only the mark was damaged', 'wrong', true],
    ['and where it is empty, it is mended', '', false],
    ['and one with its own keeps what the host has', 'virtual', false],
  ])('%s', (_, uid, isRight) => {
    const deeds = [change('host', 10, copy(mine), of(uid, mine))];
    const before: Given['now'] = [[service, virtual()], [copy(mine)]];
    const found = wrongWith({ before, deeds, now: [[service, virtual()], [copy()]], configurations: none });
    expect(found.length === 0).toBe(isRight);
  });
});

describe('4.12: content that a reference names', () => {
  const patches = [{ path: 'metadata.annotations["secret"]', reference: { apiVersion: 'v1', kind: 'Secret' } }];
  const names = (one: PlainObject, secret: string): PlainObject => ({
    ...one,
    metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, secret } },
  });
  const web_ = names(virtual(), 'own');
  const own = { namespace: 't1', name: 'own' };
  const name = generatedName('own', 't1', 'vc');
  const tenants = (labels: Texts = {}): PlainObject => object('Secret', { ...own, uid: 'own', labels }, 'a');
  const about = {
    'vcluster.loft.sh/object-name': 'own',
    'vcluster.loft.sh/object-uid': 'own',
    'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
    'vcluster.loft.sh/object-host-name': name,
  };
  const exported = (labels: Texts): PlainObject => {
    const metadata = { labels: { ...marks, ...labels }, annotations: { ...six, ...about } };
    return object('Secret', { namespace: place.namespace, name, uid: 'copy of own', ...metadata }, 'a');
  };
  const configurations: Given['configurations'] = [[0, { patches }]];

  it('a label of the host’s people stays on an exported copy, and one that the tenant has taken away goes', () => {
    const theirs = { 'hostward.dev/importable': 'true' };
    const onHost = names(copy(), name);
    const of = (secret: PlainObject, put: PlainObject): Given['now'] => [
      [service, web_, secret],
      [onHost, put],
    ];
    const put = change('host', 10, exported({}), exported(theirs));
    const [bare, full] = [of(tenants(), exported({})), of(tenants(), exported(theirs))];
    expect(wrongWith({ before: bare, deeds: [put], now: full, configurations })).toEqual([]);
    const app = { app: 'one' };
    const taken = change('virtual', 10, tenants(app), tenants());
    const [before, now] = [of(tenants(app), exported(app)), of(tenants(), exported(app))];
    expect(wrongWith({ before, deeds: [taken], now, configurations })).not.toEqual([]);
  });

  it.each([
    ['may stand in an import whose only object is refused', 'refused', true],
    ['does not stand in one that is referred to', 'synced', false],
  ])('an edit of the tenant %s', (_, state, isRight) => {
    const source = object(
      'Secret',
      { ...own, namespace: place.namespace, uid: 'source', labels: { 'hostward.dev/importable': 'true' } },
      'a',
    );
    const imported = (key: string): PlainObject =>
      object('Secret', { ...own, uid: 'import', annotations: { 'hostward.dev/imported-from': 'source' } }, key);
    const onHost = names(copy(), 'own');
    const deeds = [change('virtual', 50, imported('a'), imported('b'))];
    const before: Given['now'] = [
      [service, web_, imported('a')],
      [onHost, source],
    ];
    const now: Given['now'] = [[service, web_, imported('b')], state === 'refused' ? [source] : [onHost, source]];
    const refusing = { patches, hostward: { addressPolicy: { deny: ['10.0.0.0/8'] } } };
    const reloaded: Given['configurations'] =
      state === 'refused' ? [...configurations, [60, refusing]] : configurations;
    expect(wrongWith({ before, deeds, now, configurations: reloaded }).length === 0).toBe(isRight);
  });

  it.each([
    ['virtual wins when somebody has taken the base', true],
    ['the host keeps what cannot go back', false],
  ])('of a name that nothing stands behind %s', (_, isTaken) => {
    const strange = names(copy(), 'strange');
    const bare = names(copy({}, {}), 'strange');
    const given = {
      before: [[service, web_], [strange]] as Given['now'],
      deeds: isTaken ? [change('host', 10, strange, bare)] : [],
      configurations,
    };
    const ended = (one: PlainObject): boolean => wrongWith({ ...given, now: [[service, web_], [one]] }).length === 0;
    expect([ended(names(copy(), name)), ended(strange)]).toEqual(isTaken ? [true, true] : [false, true]);
  });
});
