// Short stories, each of one thing that makes the daemon write. The daemon is killed at every boundary of every write of each.
import {
  type Act,
  type At,
  mappedNamespace,
  movedNamespace,
  type Scenario,
  type Synced,
  tenantNamespaces,
} from './acts.ts';

const web: At = { namespace: 't1', name: 'web' };
const long: At = { namespace: 't2', name: `long-${'n'.repeat(50)}` };
const both: readonly Synced[] = ['endpoints', 'endpointslices'];

const service = (at = web, hasSelector = false): Act => ({ do: 'service', at, hasSelector, isCopied: true });
const endpoints = (version: number, more: Partial<Extract<Act, { do: 'endpoints' }>> = {}): Act => ({
  do: 'endpoints',
  at: web,
  version,
  labels: { app: 'one' },
  annotations: {},
  ...more,
});
const slice = (version: number, type: 'IPv4' | 'IPv6' = 'IPv4', at = web): Act => ({
  do: 'slice',
  at,
  service: at.name,
  version,
  labels: { app: 'one' },
  type,
});
const edit = (side: 'virtual' | 'host', resource: Synced, value: string | null, key = 'tier'): Act => ({
  do: 'edit',
  side,
  resource,
  at: web,
  field: 'labels',
  key,
  value,
});
const pause: Act = { do: 'wait', ms: 2_000 };

/** The host namespace of a virtual one; undefined = no namespace is mapped. */
type Place = ((namespace: string) => string) | 'unmapped';

interface Story {
  before?: readonly Act[];
  acts: readonly Act[];
  patches?: readonly object[];
  /** What a reload puts in place of the first configuration. */
  other?: { patches?: readonly object[]; hostward?: object; place?: Place };
  isMapped?: true;
}

const stood: readonly Act[] = [service(), endpoints(1), slice(2)];
const twoWay = {
  path: 'metadata.labels["tier"]',
  expression: '"t-" + value',
  reverseExpression: 'value.replace(/^t-/, "")',
};
const reference = {
  path: 'metadata.annotations["example.com/secret"]',
  reference: { apiVersion: 'v1', kind: 'Secret' },
};
const secret = (side: 'virtual' | 'host', value: string): Act => ({
  do: 'content',
  side,
  resource: 'secrets',
  at: { namespace: 't1', name: 'secret-a' },
  value,
  isImportable: true,
});
const names = (value: string | null): Act => ({
  do: 'edit',
  side: 'virtual',
  resource: 'endpoints',
  at: web,
  field: 'annotations',
  key: 'example.com/secret',
  value,
});

const calm: Act = { do: 'calm' };
const unseen = (...acts: readonly Act[]): readonly Act[] => [
  { do: 'down', daemon: 0, ms: 3_000 },
  ...acts.flatMap((act): Act[] => [act, { do: 'wait', ms: 10 }]),
  { do: 'wait', ms: 4_000 },
];
const stories: Readonly<Record<string, Story>> = {
  'objects are made': { acts: [...stood, service(long), slice(3, 'IPv4', long)] },
  'objects stood there before the daemon': { before: stood, acts: [] },
  'an address changes, and changes again': {
    before: stood,
    acts: [endpoints(3), slice(4), pause, endpoints(5), slice(6)],
  },
  'a label is edited on the host': {
    before: stood,
    acts: [edit('host', 'endpoints', 'x'), edit('host', 'endpointslices', 'x')],
  },
  'a label is edited on both sides': {
    before: stood,
    acts: [
      edit('virtual', 'endpoints', 'v'),
      edit('host', 'endpoints', 'h', 'team'),
      edit('host', 'endpointslices', 'h'),
    ],
  },
  'a patched label goes both ways': {
    before: [service(), endpoints(1, { labels: { tier: 'one' } })],
    acts: [edit('host', 'endpoints', 't-two'), pause, edit('virtual', 'endpoints', 'three')],
    patches: [twoWay],
  },
  'a copy vanishes': {
    before: stood,
    acts: both.map((resource) => ({ do: 'remove', side: 'host', resource, at: web })),
  },
  'the tenant deletes': {
    before: stood,
    acts: both.map((resource) => ({ do: 'remove', side: 'virtual', resource, at: web })),
  },
  'the Service goes, and comes back': {
    before: stood,
    acts: [{ do: 'remove', side: 'virtual', resource: 'services', at: web }, pause, service()],
  },
  'the Service gains a selector': { before: stood, acts: [service(web, true)] },
  'an object is made anew under its name': {
    before: stood,
    acts: both.map((resource, nth) => ({ do: 'recreate', resource, at: web, version: 7 + nth })),
  },
  'a slice changes its address type': { before: stood, acts: [slice(8, 'IPv6')] },
  'a native object is taken over': {
    before: [{ do: 'stranger', resource: 'endpoints', at: web, marks: 'none' }, service(), endpoints(1)],
    acts: [],
  },
  'marks are damaged': {
    before: stood,
    acts: [
      { do: 'damage', resource: 'endpoints', at: web, mark: 'vcluster.loft.sh/managed-by', value: null },
      { do: 'damage', resource: 'endpointslices', at: web, mark: 'vcluster.loft.sh/object-uid', value: 'wrong' },
    ],
  },
  'a Secret is exported, changed and let go': {
    before: [secret('virtual', 'content-1'), ...stood],
    acts: [names('secret-a'), pause, secret('virtual', 'content-2'), pause, names(null)],
    patches: [reference],
  },
  'a Secret is imported, changed and let go': {
    before: [secret('host', 'content-1'), ...stood],
    acts: [names('secret-a'), pause, secret('host', 'content-2'), pause, names(null)],
    patches: [reference],
  },
  'patches change': {
    before: stood,
    acts: [edit('virtual', 'endpoints', 'one'), pause, { do: 'reload', configuration: 1 }],
    other: { patches: [twoWay] },
  },
  'namespaces are mapped': { acts: [...stood, pause, endpoints(9)], isMapped: true },
  'namespaces are mapped to others': {
    before: [secret('virtual', 'content-1'), ...stood],
    acts: [names('secret-a'), pause, calm, ...unseen({ do: 'reload', configuration: 1 }), endpoints(9)],
    patches: [reference],
    other: { patches: [reference], place: movedNamespace },
    isMapped: true,
  },
  'namespaces are mapped no longer': {
    before: [secret('virtual', 'content-1'), ...stood],
    acts: [names('secret-a'), pause, calm, ...unseen({ do: 'reload', configuration: 1 }), endpoints(9)],
    patches: [reference],
    other: { patches: [reference], place: 'unmapped' },
    isMapped: true,
  },
};

export const storyNames: readonly string[] = Object.keys(stories);

const note = (side: 'virtual' | 'host', key: string, value: string): Act => ({
  ...{ do: 'edit', side, resource: 'endpoints', at: web, field: 'annotations' },
  ...{ key, value },
});
const damage = (mark: string): Act => ({ do: 'damage', resource: 'endpoints', at: web, mark, value: null });

/** Both are "a-x-b-x-t1-x-vc" on the host. The one that is made first is not the first of the alphabet. */
const older: At = { namespace: 't1', name: 'a-x-b' };
const younger: At = { namespace: 'b-x-t1', name: 'a' };
/** A Service that vCluster has not copied: it says nothing about who gets its name. */
const uncopied = (at: At): Act => ({ do: 'service', at, hasSelector: false, isCopied: false });
const bare = (at: At, version: number): Act => ({ do: 'endpoints', at, version, labels: {}, annotations: {} });
const sliceOf = (at: At, named: string, version: number): Act => ({
  ...{ do: 'slice', at, service: named, version },
  ...{ labels: {}, type: 'IPv4' },
});

/** Two things meet that a seed seldom brings together: they show what a mistake in the plan does, and are not played with crashes. */
const meetings: Readonly<Record<string, Story>> = {
  'a host edit meets an object made anew': {
    before: [service(), endpoints(1, { labels: { tier: 'one' } })],
    acts: [
      pause,
      ...unseen(edit('host', 'endpoints', 'x'), { do: 'recreate', resource: 'endpoints', at: web, version: 7 }),
    ],
  },
  'a copy loses its name, and its object goes': {
    before: stood,
    acts: [
      pause,
      ...unseen(damage('vcluster.loft.sh/object-name'), {
        do: 'remove',
        side: 'virtual',
        resource: 'endpoints',
        at: web,
      }),
    ],
  },
  'a Service goes, and the copy behind it loses its name': {
    before: stood,
    acts: [
      pause,
      ...unseen(
        { do: 'remove', side: 'virtual', resource: 'services', at: web },
        damage('vcluster.loft.sh/object-name'),
      ),
    ],
  },
  'two objects want a name that nobody has': {
    before: [uncopied(older), bare(older, 1), pause, uncopied(younger), bare(younger, 2)],
    acts: [pause],
  },
  'two slices of different Services want a name that nobody has': {
    before: [
      ...[service(), sliceOf(older, web.name, 1), pause],
      ...[service({ namespace: younger.namespace, name: 'api' }), sliceOf(younger, 'api', 2)],
    ],
    acts: [pause],
  },
  'an older object wants the name of a copy': {
    before: [bare(older, 1), pause, uncopied(younger), bare(younger, 2)],
    acts: [pause, calm, uncopied(older), pause],
  },
  'the host keeps a copy whose object goes': {
    before: stood,
    acts: [
      ...[pause, note('host', 'vcluster.loft.sh/skip-backsync', 'true'), pause],
      ...[{ do: 'remove', side: 'virtual', resource: 'endpoints', at: web } as Act, pause],
    ],
  },
  'a copy belongs to another controller': {
    before: stood,
    acts: [pause, note('host', 'vcluster.loft.sh/controlled-by', 'other'), pause, endpoints(3), pause],
  },
  'an object belongs to another controller': {
    before: stood,
    acts: [pause, note('virtual', 'vcluster.loft.sh/controlled-by', 'other'), pause],
  },
  'a key that controllers keep is edited on the host': {
    before: stood,
    acts: [pause, note('host', 'service.kubernetes.io/headless', 'h'), pause, calm, endpoints(3), pause],
  },
  'an object is made again without a key that controllers keep': {
    before: stood,
    acts: [
      ...[pause, note('virtual', 'service.kubernetes.io/headless', ''), pause, calm],
      ...unseen({ do: 'remove', side: 'virtual', resource: 'endpoints', at: web }, endpoints(7)),
    ],
  },
  'a key that has crossed is edited on the host': {
    before: stood,
    acts: [pause, calm, edit('host', 'endpoints', 'x', 'app'), pause],
  },
  'both sides edit a key that has crossed': {
    before: stood,
    acts: [pause, calm, ...unseen(edit('host', 'endpoints', 'h', 'app'), edit('virtual', 'endpoints', 'v', 'app'))],
  },
  'a patch that has made a key goes': {
    before: stood,
    acts: [pause, { do: 'reload', configuration: 1 }, pause],
    patches: [{ path: 'metadata.annotations["cluster"]', expression: '"vc"', onMissing: 'create' }],
    other: {},
  },
  'a key is excluded': {
    before: stood,
    acts: [pause, { do: 'reload', configuration: 1 }, pause],
    other: { hostward: { exclude: { labels: ['app'] } } },
  },
  'a network is denied': {
    before: stood,
    acts: [pause, calm, { do: 'reload', configuration: 1 }, pause],
    other: { hostward: { addressPolicy: { deny: ['10.0.0.0/8'] } } },
  },
  'the owner of all copies is made anew': {
    before: stood,
    acts: [pause, { do: 'owner', exists: false }, pause, { do: 'owner', exists: true }, pause],
  },
  'a key that only an expression makes is edited on the host': {
    before: stood,
    acts: [pause, edit('host', 'endpoints', 'x', 'app'), pause],
    patches: [{ path: 'metadata.labels["app"]', expression: '"p-" + value' }],
  },
  'a copy loses its base, and its object an annotation': {
    before: [service(), endpoints(1, { annotations: { note: 'one' } })],
    acts: [
      pause,
      ...unseen(damage('hostward.dev/base'), {
        ...{ do: 'edit', side: 'virtual', resource: 'endpoints', at: web },
        ...{ field: 'annotations', key: 'note', value: null },
      }),
    ],
  },
  'the place of a copy is taken by another virtual cluster': {
    before: [{ do: 'stranger', resource: 'endpoints', at: web, marks: 'otherCluster' }, service(), endpoints(1)],
    acts: [pause],
  },
  'an address turns into one that is refused everywhere': {
    before: stood,
    acts: [pause, endpoints(3, { isHostile: true }), pause],
  },
  'a patch begins to fail': {
    before: stood,
    acts: [pause, endpoints(3, { annotations: { note: 'boom' } }), pause],
    patches: [{ path: 'metadata.annotations["note"]', expression: 'value === "boom" ? null.member : value' }],
  },
};

export const meetingNames: readonly string[] = Object.keys(meetings);

export function storyOf(name: string): Scenario {
  const { before = [], acts, patches = [], other, isMapped = false } = (stories[name] ?? meetings[name]) as Story;
  const place: Place = isMapped ? mappedNamespace : 'unmapped';
  const first = configurationOf(patches, { place });
  return {
    configurations: other === undefined ? [first] : [first, configurationOf(other.patches ?? [], { place, ...other })],
    daemons: 1,
    isMapped,
    moves: other?.place !== undefined,
    kinds: both,
    before,
    acts: [...acts, { do: 'calm' }],
  };
}

function configurationOf(
  patches: readonly object[],
  { place, hostward = {} }: { place: Place; hostward?: object },
): object {
  const mapped = place !== 'unmapped' && {
    namespaces: {
      enabled: true,
      mappings: { byName: Object.fromEntries(tenantNamespaces.map((name) => [name, place(name)])) },
    },
  };
  return {
    sync: {
      toHost: {
        endpoints: { enabled: false, patches },
        endpointSlices: { enabled: false, patches },
        secrets: { enabled: true },
        ...mapped,
      },
    },
    hostward: {
      ...{ endpoints: { enabled: true }, endpointSlices: { enabled: true }, leaderElection: 'never' },
      ...hostward,
    },
  };
}
