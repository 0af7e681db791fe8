// What must stand in both clusters when all is calm: a second opinion, from DESIGN 2 to 4 and the fact pages alone.
// In: a calm point. Out: every object that may exist on either side, with the rule that says so. Pure.

import { type Claim, claimsOf, holdersOf, isContested, isSynced, render } from './claims.ts';
import { isContent, References } from './content.ts';
import { History, type MapName, mapOf } from './history.ts';
import { type CopyCase, lastOfSame, olderResults, pick, staleCopy, writtenCopy } from './host-copy.ts';
import { keyOf, objectKey, own } from './json.ts';
import { hostMark, namedBy, ownerOf, SKIP } from './marks.ts';
import { CONTROLLED_BY } from './names.ts';
import { hasSelector, isExcluded, mayTakeOver, serviceNameOf } from './policy.ts';
import { type Settings, settingsOf } from './settings.ts';
import { type Pair, virtualValues } from './two-way.ts';
import type { AbsentObject, CalmPoint, Expectation, ExpectedObject, Model, PlainObject } from './types.ts';

const asItIs = (side: 'virtual' | 'host', object: PlainObject, because: string): ExpectedObject => ({
  side,
  object,
  open: [],
  exists: 'must',
  because,
});

/** One calm point, and what is worked out about it on the way. */
class Judgement {
  readonly history: History;
  readonly all: readonly Settings[];
  readonly settings: Settings;
  readonly claims: readonly Claim[];
  readonly holders: ReadonlyMap<string, Claim>;
  readonly references: References;
  readonly objects: ExpectedObject[] = [];
  readonly absent: AbsentObject[] = [];

  constructor(point: CalmPoint) {
    this.history = new History(point);
    this.all = settingsOf(point);
    this.settings = this.all.at(-1) as Settings;
    this.references = new References(this.history, this.all);
    this.claims = claimsOf(this.history, this.settings, this.references.doubted);
    this.holders = holdersOf(this.claims, this.history);
  }

  private pairOf(virtual: PlainObject): Pair | undefined {
    const { history, settings } = this;
    const { namespace, name } = virtual.metadata;
    const place = settings.naming.place(namespace, name);
    if (place === undefined) return undefined;
    const hostKey = keyOf(virtual.kind, place.namespace, place.name);
    const virtualKey = objectKey(virtual);
    const claim = this.claims.find((one) => objectKey(one.virtual) === virtualKey);
    const hostNow = history.now('host', hostKey);
    const around = claim?.around ?? {
      settings,
      virtual,
      host: history.last('host', hostKey),
      nameOnHost: this.references.name,
    };
    const service = keyOf('Service', namespace, serviceNameOf(virtual) ?? '');
    const deeds = [...history.deedsOn('virtual', virtualKey), ...history.deedsOn('host', hostKey)];
    const start = history.start('host', hostKey);
    const isSteady =
      claim?.rendering.outcome.ok === true &&
      this.holders.get(hostKey) === claim &&
      !isContested(this.claims, claim) &&
      history.isOneConfiguration &&
      history.isUntouched('virtual', service) &&
      deeds.every((deed) => deed.verb === 'change') &&
      start !== undefined &&
      start.metadata.uid === hostNow?.metadata.uid;
    return { history, around, virtualKey, hostKey, hostNow, isSteady };
  }

  /** The virtual object with the labels and annotations that the rules let people of the host change. */
  private virtualExpected(last: PlainObject): PlainObject {
    const pair = this.pairOf(last);
    if (pair === undefined) return last;
    const now = this.history.now('virtual', objectKey(last));
    const mapFor = (map: MapName): { [key: string]: string } => {
      const { naming } = this.settings;
      const versions = [
        ...this.history.versions('host', pair.hostKey),
        ...(pair.hostNow === undefined ? [] : [pair.hostNow]),
      ];
      const onHost = versions.flatMap((version) => Object.keys(mapOf(version, map)));
      const back = onHost.map((key) => (map === 'labels' ? naming.virtualLabelKey(key) : key));
      const keys = new Set([...Object.keys(mapOf(last, map)), ...Object.keys(mapOf(now, map)), ...back]);
      const made: { [key: string]: string } = {};
      for (const key of keys) {
        if (key === undefined) continue;
        const hostKey = map === 'labels' ? (naming.labelKey(key) ?? key) : key;
        const value = pick(virtualValues(pair, map, key, hostKey), own(mapOf(now, map), key));
        if (value !== undefined) made[key] = value;
      }
      return made;
    };
    return { ...last, metadata: { ...last.metadata, labels: mapFor('labels'), annotations: mapFor('annotations') } };
  }

  judgeVirtual(): void {
    const imports = this.references.all.flatMap(({ key }) => this.references.importOf(key) ?? []);
    const imported = new Set(
      imports.map(({ object }) => keyOf(object.kind, object.metadata.namespace, object.metadata.name)),
    );
    this.objects.push(...imports);
    for (const last of this.history.lastObjects('virtual')) {
      if (imported.has(objectKey(last))) continue;
      if (isContent(last.kind) && this.references.isSpentImport(last)) continue;
      const object = isSynced(last.kind) ? this.virtualExpected(last) : last;
      this.objects.push(asItIs('virtual', object, isSynced(last.kind) ? 'DESIGN 3.8' : 'DESIGN 3.3: the tenant’s own'));
    }
  }

  judgeHost(): void {
    const seen = new Set<string>();
    for (const [hostKey, claim] of this.holders) {
      seen.add(hostKey);
      this.judgeClaim(claim);
    }
    for (const { key, kind } of this.references.all) {
      const copy = this.references.copyOf(key, kind);
      if (copy === undefined) continue;
      seen.add(keyOf(kind, copy.object.metadata.namespace, copy.object.metadata.name));
      this.objects.push(copy);
    }
    for (const key of this.history.keysOf('host')) if (!seen.has(key)) this.judgeUnclaimed(key);
  }

  private judgeClaim(claim: Claim): void {
    const { history } = this;
    const pair = this.pairOf(claim.virtual);
    if (pair === undefined) return;
    const virtual = this.virtualExpected(claim.virtual);
    const around = { ...claim.around, virtual, nameOnHost: this.references.name };
    const rendering = render({ ...around, nameOnHost: this.references.counted }) ?? claim.rendering;
    const made = { ...claim, around, rendering };
    const last = history.last('host', claim.hostKey);
    const now = history.now('host', claim.hostKey);
    const of: CopyCase = { history, settings: this.all, claim: made, virtual, pair };
    if (last !== undefined && !this.isWritable(claim, last)) {
      this.objects.push(asItIs('host', last, 'DESIGN 3.4 and 3.9: not ours, hands off'));
      return;
    }
    this.judgeWritable(of, last, now);
  }

  private judgeWritable(of: CopyCase, last: PlainObject | undefined, now: PlainObject | undefined): void {
    const { claim } = of;
    if (last?.metadata.deletionTimestamp !== undefined) {
      this.objects.push(asItIs('host', now ?? last, 'DESIGN 3.3: being deleted'));
      return;
    }
    const { outcome } = claim.rendering;
    if (!outcome.ok) {
      if (last === undefined && (now === undefined || olderResults(of).length === 0)) return;
      const host = lastOfSame(of) ?? now ?? last;
      if (host !== undefined)
        this.objects.push(staleCopy(of, host, 'may', 'DESIGN 4.9: a failed patch leaves the old copy'));
      return;
    }
    const expected = writtenCopy(of, outcome, 'DESIGN 3.1, 3.3, 3.7, 3.8');
    if (last === undefined && this.isOwnerMissing()) {
      this.objects.push({ ...expected, exists: 'may', because: `${expected.because}; no owner, nothing is made` });
      return;
    }
    this.objects.push(expected);
  }

  private isOwnerMissing(): boolean {
    if (!this.settings.setsOwner) return false;
    const { hostNamespace, virtualCluster } = this.settings.naming;
    const service = this.history.last('host', keyOf('Service', hostNamespace, virtualCluster));
    return service === undefined || service.metadata.deletionTimestamp !== undefined;
  }

  /** Whether the rules let the daemon write the object that stands at the place of a claim. */
  private isWritable(claim: Claim, host: PlainObject): boolean {
    const { virtual } = claim;
    const owner = ownerOf(host, virtual.metadata, this.settings.naming);
    if (owner === 'native') return mayTakeOver(virtual, host, this.history, this.settings);
    if (owner === 'foreign') {
      const other = namedBy(host);
      // A copy of another key at the same name is deleted by its own key first.
      return other !== undefined && this.isDeletable(host);
    }
    return hostMark(host, virtual, CONTROLLED_BY) === undefined;
  }

  /** Ours by its own annotations, both of them present and right, and no claim of that key stands behind it. */
  private isDeletable(host: PlainObject): boolean {
    const key = namedBy(host);
    const { naming } = this.settings;
    if (key === undefined || !isSynced(host.kind) || !this.settings.isOn[host.kind]) return false;
    const place = naming.place(key.namespace, key.name);
    if (place?.name !== host.metadata.name || place.namespace !== host.metadata.namespace) return false;
    return ownerOf(host, key, naming) === 'ours';
  }

  private judgeUnclaimed(hostKey: string): void {
    const { history } = this;
    const last = history.last('host', hostKey);
    const now = history.now('host', hostKey);
    const kept = now && this.references.keptCopyOf(now);
    if (kept !== undefined) {
      this.objects.push(kept);
      return;
    }
    if (last === undefined || this.references.isSpentCopy(last)) return;
    if (!isSynced(last.kind) || !this.settings.isOn[last.kind] || !this.isDeletable(last)) {
      this.objects.push(asItIs('host', last, 'DESIGN 3.2: not ours to write or delete'));
      return;
    }
    const named = namedBy(last);
    const virtual = history.last('virtual', keyOf(last.kind, named?.namespace ?? '', named?.name ?? ''));
    const skips = hostMark(last, virtual, SKIP) === 'true';
    const isHandsOff = hostMark(last, virtual, CONTROLLED_BY) !== undefined;
    if (isHandsOff || (virtual === undefined && skips) || last.metadata.deletionTimestamp !== undefined) {
      this.objects.push(asItIs('host', history.now('host', hostKey) ?? last, 'DESIGN 3.9: the host keeps it'));
      return;
    }
    const { namespace, name } = last.metadata;
    this.absent.push({
      side: 'host',
      kind: last.kind,
      namespace,
      name,
      because: `DESIGN 3.2: ${this.reason(virtual)}`,
    });
  }

  private reason(virtual: PlainObject | undefined): string {
    if (virtual === undefined) return 'no virtual object';
    const service = this.history.last(
      'virtual',
      keyOf('Service', virtual.metadata.namespace, serviceNameOf(virtual) ?? ''),
    );
    if (service === undefined) return 'no Service';
    if (hasSelector(service)) return 'the Service has a selector';
    return isExcluded(virtual) ? 'excluded' : 'refused, mirrored or without a name';
  }
}

export const expectationOf: Model = (point: CalmPoint): Expectation => {
  const judgement = new Judgement(point);
  judgement.judgeHost();
  judgement.judgeVirtual();
  return { objects: judgement.objects, absent: judgement.absent };
};
