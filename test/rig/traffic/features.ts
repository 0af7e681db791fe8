// The features of one run and the configurations that follow from them, as an operator would write them.
import type { Chance } from '../play/random.ts';
import { mappedNamespace, type Synced, tenantNamespaces } from './acts.ts';

export interface Features {
  kinds: readonly Synced[];
  isMapped: boolean;
  isTls: boolean;
  daemons: number;
  hasReferences: boolean;
  /** How many other configurations a reload can choose. */
  reloads: number;
  /** By configuration. */
  variants: readonly Variant[];
}

export interface Variant {
  patches: readonly string[];
  backSync: 'all' | 'none';
  excluded: readonly string[];
  denied: readonly string[];
  leaderElection: 'always' | 'never';
  leaseDurationSeconds: number;
  isMirrored: boolean;
  keepsNodeName: boolean;
  setOwner: boolean;
  exports: boolean;
  /** Kinds that this configuration alone switches off. */
  off?: readonly Synced[];
}

/** Several replicas have the lease of the demo, which fails over within six seconds; one alone has the default. */
export const demoLeaseSeconds = 5;
const defaultLeaseSeconds = 15;

const metadataPatches: Readonly<Record<string, object>> = {
  prefix: {
    path: 'metadata.labels["tier"]',
    expression: '"t-" + value',
    reverseExpression: 'value.replace(/^t-/, "")',
  },
  forward: { path: 'metadata.annotations["example.com/tier"]', expression: 'value.toUpperCase()' },
  hide: { path: 'metadata.annotations["hidden"]', expression: 'null' },
  back: { path: 'metadata.labels["team"]', reverseExpression: 'value + "-host"' },
  fail: { path: 'metadata.annotations["note"]', expression: 'value === "boom" ? null.member : value' },
  skip: {
    path: 'metadata.labels["app"]',
    expression: 'value === "boom" ? null.member : "p-" + value',
    onError: 'skip',
  },
  create: {
    path: 'metadata.annotations["example.com/cluster"]',
    expression: 'context.vcluster.name',
    onMissing: 'create',
  },
  reference: {
    path: 'metadata.annotations["example.com/secret"]',
    reference: { apiVersion: 'v1', kind: 'Secret' },
  },
};

/** Of a patch of labels and annotations; nothing for another. */
export function pathOf(patch: string): string {
  return (metadataPatches[patch] as { path?: string } | undefined)?.path ?? '';
}

/** Addresses keep their last three numbers, by which the oracles know the version of a payload. */
const endpointsPatches: Readonly<Record<string, object>> = {
  address: {
    path: 'subsets[*].addresses[*].ip',
    expression: 'value.startsWith("10.") ? "20." + value.slice(3) : value',
  },
};

const slicePatches: Readonly<Record<string, object>> = {
  address: {
    path: 'endpoints[*].addresses[*]',
    expression: 'value.startsWith("10.") ? "20." + value.slice(3) : value',
  },
};

export function drawFeatures(chance: Chance): Features {
  const kinds = chance.weigh<readonly Synced[]>([
    [4, ['endpoints']],
    [5, ['endpoints', 'endpointslices']],
    [1, ['endpointslices']],
  ]);
  const daemons = chance.isHit(0.2) ? 2 : 1;
  const reloads = chance.between(0, 2);
  const leaderElection = daemons > 1 || chance.isHit(0.25) ? 'always' : 'never';
  const election = {
    leaderElection,
    leaseDurationSeconds: daemons > 1 ? demoLeaseSeconds : defaultLeaseSeconds,
  } as const;
  const first = drawVariant(chance, election);
  const variants = [
    first,
    ...Array.from({ length: reloads }, () => changed(first, drawVariant(chance, election), chance)),
  ];
  return {
    kinds,
    isMapped: chance.isHit(0.25),
    isTls: chance.isHit(0.15),
    daemons,
    hasReferences: variants.some(({ patches }) => patches.includes('reference')),
    reloads,
    variants,
  };
}

function drawVariant(
  chance: Chance,
  { leaderElection, leaseDurationSeconds }: Pick<Variant, 'leaderElection' | 'leaseDurationSeconds'>,
): Variant {
  return {
    patches: [...Object.keys(metadataPatches), 'address'].filter(() => chance.isHit(0.3)),
    backSync: chance.isHit(0.9) ? 'all' : 'none',
    excluded: chance.isHit(0.1) ? ['team'] : [],
    denied: chance.isHit(0.15) ? ['10.6.0.0/16'] : [],
    leaderElection,
    leaseDurationSeconds,
    isMirrored: chance.isHit(0.25),
    keepsNodeName: chance.isHit(0.8),
    setOwner: chance.isHit(0.8),
    exports: chance.isHit(0.7),
  };
}

/** Some members of another draw; what needs a restart stays. */
function changed(first: Variant, other: Variant, chance: Chance): Variant {
  const { setOwner: _, leaderElection: __, leaseDurationSeconds: ___, ...live } = other;
  const taken = Object.entries(live).filter(() => chance.isHit(0.5));
  return { ...first, ...(Object.fromEntries(taken) as Partial<Variant>) };
}

/** The operator changes one thing for which little else in a run gives a reason. */
export function turned(features: Features, chance: Chance): { features: Features; patch: string | undefined } {
  const first = features.variants[0] as Variant;
  const { excluded, denied, patches } = first;
  const names = [...Object.keys(metadataPatches), 'address'];
  // One that goes leaves what it has made.
  const one = chance.pick(patches.length > 0 && chance.isHit(0.6) ? patches : names);
  const other = chance.pick<Partial<Variant>>([
    { excluded: excluded.length > 0 ? [] : [chance.pick(['app', 'tier', 'team'])] },
    { denied: denied.length > 0 ? [] : ['10.0.0.0/8'] },
    ...Array.from({ length: 2 }, () => ({
      patches: patches.includes(one) ? patches.filter((name) => name !== one) : [...patches, one],
    })),
  ]);
  const variants = [...features.variants, { ...first, ...other }];
  return { features: { ...features, variants }, patch: other.patches && one };
}

export function configurationsOf({ variants, kinds, isMapped }: Features): object[] {
  return variants.map((variant) => {
    const { patches, exports } = variant;
    const entries = (own: Readonly<Record<string, object>>): object[] =>
      patches.flatMap((name) => metadataPatches[name] ?? own[name] ?? []);
    const isOn = (kind: Synced): boolean => kinds.includes(kind) && variant.off?.includes(kind) !== true;
    const byName = Object.fromEntries(tenantNamespaces.map((name) => [name, mappedNamespace(name)]));
    return {
      sync: {
        toHost: {
          endpoints: { enabled: false, patches: entries(endpointsPatches) },
          endpointSlices: { enabled: false, patches: entries(slicePatches) },
          secrets: { enabled: exports },
          ...(isMapped && { namespaces: { enabled: true, mappings: { byName } } }),
        },
      },
      experimental: { syncSettings: { setOwner: variant.setOwner } },
      hostward: {
        endpoints: { enabled: isOn('endpoints') },
        endpointSlices: {
          enabled: isOn('endpointslices'),
          mirrored: variant.isMirrored,
          nodeName: variant.keepsNodeName ? 'keep' : 'drop',
        },
        backSync: variant.backSync,
        ...(variant.excluded.length > 0 && { exclude: { labels: variant.excluded } }),
        ...(variant.denied.length > 0 && { addressPolicy: { deny: variant.denied } }),
        leaderElection: variant.leaderElection,
        leaseDurationSeconds: variant.leaseDurationSeconds,
      },
    };
  });
}
