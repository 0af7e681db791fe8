// What must be in both clusters when all is calm: a second opinion, from DESIGN 2 to 4 and the fact pages alone.
// In: a calm point. Out: every object that may exist on either side, with the rule that says so. Pure.
// Long because what is said of one object depends on what is known of all of them.

import {
  type Claim,
  claimsOf,
  holdersOf,
  isContested,
  isSynced,
  needsBeside,
  render,
  withoutLosers,
} from './claims.ts';
import { isContent, References } from './content.ts';
import { type CopyCase, olderResults, pick, staleCopy, writtenCopy } from './host-copy.ts';
import { KeptContent } from './kept-content.ts';
import { type Pair, virtualValues } from './patches/two-way.ts';
import { hasSelector, isExcluded, isWanted, mayTakeOver, mightTakeOver, serviceNameOf, wasUnwanted } from './policy.ts';
import { History, type MapName, mapOf } from './words/history.ts';
import { keyOf, objectKey, own } from './words/json.ts';
import { hostMark, isStray, namedBy, ownerOf, SKIP } from './words/marks.ts';
import { CONTROLLED_BY } from './words/names.ts';
import { type Settings, settingsOf } from './words/settings.ts';
import type { AbsentObject, CalmPoint, Expectation, ExpectedObject, Model, PlainObject } from './words/types.ts';

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
  readonly kept: KeptContent;
  readonly objects: ExpectedObject[] = [];
  readonly absent: AbsentObject[] = [];

  constructor(point: CalmPoint) {
    this.history = new History(point);
    this.all = settingsOf(point);
    this.settings = this.all.at(-1) as Settings;
    this.references = new References(this.history, this.all);
    const all = claimsOf(this.history, this.settings, this.references.doubted);
    const claims = withoutLosers(all, this.history, this.settings);
    const holders = holdersOf(claims, this.history);
    this.claims = claims.filter((claim) => !this.isWithheld(claim, holders));
    this.holders = holdersOf(this.claims, this.history);
    const failing = this.claims.filter(({ rendering }) => !rendering.outcome.ok);
    this.kept = new KeptContent(this.history, { configurations: this.all, references: this.references, failing });
  }

  /** A mirrored slice is only beside its Endpoints: not while that one is missing, excluded, refused, failing, or without its name. */
  private isWithheld(claim: Claim, holders: ReadonlyMap<string, Claim>): boolean {
    const needed = needsBeside(claim, this.settings);
    if (needed === undefined) return false;
    const beside = [...holders.values()].find(({ virtual }) => objectKey(virtual) === needed);
    if (beside?.rendering.outcome.ok !== true) return true;
    const host = this.history.last('host', beside.hostKey);
    return host !== undefined && !this.isWritable(beside, host);
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
    const named = this.references.all.flatMap(({ key }) => this.references.importOf(key) ?? []);
    const imports = [...named, ...this.kept.imports];
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
      // What is there may be younger than the last calm point: patches that succeeded in between have made it.
      const host = now ?? last;
      if (host !== undefined)
        this.objects.push(staleCopy(of, host, 'may', 'DESIGN 4.9: a failed patch leaves the old copy'));
      return;
    }
    const expected = writtenCopy(of, outcome, 'DESIGN 3.1, 3.3, 3.7, 3.8');
    const mayBeGone = last === undefined || (now === undefined && this.mayHaveLostItsRight(claim));
    if (mayBeGone && this.isOwnerMissing()) {
      this.objects.push({ ...expected, exists: 'may', because: `${expected.because}; no owner, nothing is made` });
      return;
    }
    this.objects.push(expected);
  }

  /** Its copy may have been deleted with right for a while (DESIGN 3.2), and is made again when the owner is back (DESIGN 3.3). */
  private mayHaveLostItsRight(claim: Claim): boolean {
    const { history } = this;
    const { namespace } = claim.virtual.metadata;
    const service = keyOf('Service', namespace, serviceNameOf(claim.virtual) ?? '');
    const isUntouched = [objectKey(claim.virtual), service].every((key) => history.isUntouched('virtual', key));
    const hasRivals = this.claims.filter(({ hostKey }) => hostKey === claim.hostKey).length > 1;
    return !isUntouched || !history.isOneConfiguration || hasRivals;
  }

  private isOwnerMissing(): boolean {
    if (!this.settings.setsOwner) return false;
    const { hostNamespace, virtualCluster } = this.settings.naming;
    const service = this.history.last('host', keyOf('Service', hostNamespace, virtualCluster));
    return service === undefined || service.metadata.deletionTimestamp !== undefined;
  }

  /** Whether the rules let the daemon write the object that is at the place of a claim. */
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
    if (last !== undefined && this.isOfFormerMapping(last)) {
      const { namespace, name } = last.metadata;
      const because = 'DESIGN 3.17: a former mapping has put it there';
      this.absent.push({ side: 'host', kind: last.kind, namespace, name, because });
      return;
    }
    const kept = now && this.kept.copyOf(now);
    if (kept !== undefined) {
      this.objects.push(kept);
      return;
    }
    if (last === undefined || this.references.isOwnCopy(last)) return;
    if (!isSynced(last.kind) || !this.settings.isOn[last.kind] || !this.isDeletable(last)) {
      const stands = asItIs('host', last, 'DESIGN 3.2: not ours to write or delete');
      this.objects.push(
        this.mayHaveBecomeOurs(last) || (isSynced(last.kind) && isStray(last, this.settings.naming))
          ? { ...stands, exists: 'may' }
          : stands,
      );
      return;
    }
    const named = namedBy(last);
    const virtualKey = keyOf(last.kind, named?.namespace ?? '', named?.name ?? '');
    const virtual = history.last('virtual', virtualKey);
    const skips = hostMark(last, virtual, SKIP) === 'true';
    const isHandsOff = hostMark(last, virtual, CONTROLLED_BY) !== undefined;
    if (isHandsOff || (virtual === undefined && skips) || last.metadata.deletionTimestamp !== undefined) {
      // The daemon may have written it before somebody took it away from the daemon.
      const service = keyOf(
        'Service',
        named?.namespace ?? '',
        virtual === undefined ? '' : (serviceNameOf(virtual) ?? ''),
      );
      const isStill =
        history.isUntouched('host', hostKey) &&
        history.isUntouched('virtual', virtualKey) &&
        (virtual === undefined || history.isUntouched('virtual', service)) &&
        history.isOneConfiguration;
      const stands = isStill ? last : (history.now('host', hostKey) ?? last);
      const kept = asItIs('host', stands, 'DESIGN 3.9: the host keeps it');
      // The mark keeps a copy whose object goes, and not one whose object has lost its right to it before it went (DESIGN 3.2).
      const mayGo = !isHandsOff && virtual === undefined && wasUnwanted(virtualKey, history, this.all);
      this.objects.push(mayGo ? { ...kept, exists: 'may' } : kept);
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

  /** Ours by its own annotations, at the place that only a former configuration gives its key. A mapping changes with a restart (DESIGN 3.17). */
  private isOfFormerMapping(host: PlainObject): boolean {
    const { kind, metadata } = host;
    const key = namedBy(host);
    if (key === undefined || !(isSynced(kind) ? this.settings.isOn[kind] : isContent(kind))) return false;
    const isPlaceIn = ({ naming }: Settings): boolean => {
      const place = naming.place(key.namespace, key.name);
      return place?.namespace === metadata.namespace && place.name === metadata.name;
    };
    const former = this.all.findLast((one) => one.naming.isMapped && isPlaceIn(one));
    if (former === undefined || isPlaceIn(this.settings)) return false;
    const virtual = this.history.last('virtual', keyOf(kind, key.namespace, key.name));
    return ownerOf(host, key, former.naming) === 'ours' && hostMark(host, virtual, CONTROLLED_BY) === undefined;
  }

  /**
   * The daemon may have mended a damaged copy, or taken a native object over, while its key still had a claim, and deleted it when that ended
   * (DESIGN 3.2, 3.4, 3.6). Something must have changed since people last saw the object.
   */
  private mayHaveBecomeOurs(host: PlainObject): boolean {
    const { history, settings } = this;
    if (!isSynced(host.kind) || !settings.isOn[host.kind]) return false;
    const deeds = history.deedsOn('host', objectKey(host));
    const sinceMs = deeds.at(-1)?.atMs ?? 0;
    // What a fault has kept from the daemon came later than it was done.
    const isLate = history.point.hasSeenAll !== true;
    const isLater = (key: string): boolean =>
      history.deedsOn('virtual', key).some(({ atMs }) => isLate || atMs >= sinceMs);
    const wasLoaded = this.all.slice(1).some((one) => one.sinceMs >= sinceMs);
    const hasClaimed = (virtual: PlainObject, service: PlainObject): boolean =>
      this.all.some((one) => isWanted(virtual, (key) => (key === objectKey(service) ? service : undefined), one));
    return history.everKeysOf('virtual').some((key) =>
      history.versions('virtual', key).some((virtual) => {
        const { kind, metadata } = virtual;
        const place = settings.naming.place(metadata.namespace, metadata.name);
        if (kind !== host.kind || place?.name !== host.metadata.name || place.namespace !== host.metadata.namespace)
          return false;
        const owner = ownerOf(host, metadata, settings.naming);
        const isOpen = owner === 'ours' || (owner === 'native' && mightTakeOver(virtual, host, history, settings));
        const service = keyOf('Service', metadata.namespace, serviceNameOf(virtual) ?? '');
        return (
          isOpen &&
          (wasLoaded || isLater(key) || isLater(service)) &&
          history.versions('virtual', service).some((one) => hasClaimed(virtual, one))
        );
      }),
    );
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
