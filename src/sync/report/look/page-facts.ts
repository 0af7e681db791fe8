// What pages ask in addition to the status: the last hour, the list of objects page by page, and everything about one name. In: running
// Syncs. Out: plain data. It must never change anything, and never know HTML.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import type { Key } from '../../../object/meta/object.ts';
import type { ContentSync } from '../../loop/content/content-sync.ts';
import type { MeasuredPoint } from '../../loop/pass/measured-hour.ts';
import type { Sync } from '../../loop/sync.ts';
import type { Reference } from '../../references/reference-names.ts';
import type { Referrer } from '../../references/registry.ts';
import { unreadSentence } from '../../world/unread.ts';
import { unreadOf } from '../object-status.ts';
import { type ContentDetail, contentDetail } from './content-detail.ts';
import { type ObjectDetail, objectDetail } from './object-detail.ts';
import { type ObjectPage, type ObjectPageQuery, objectPage } from './object-page.ts';

export interface PageFacts {
  /** Another text after every change of an object; while it is the same, a page of objects is the same but for ages. */
  changes(): string;
  /** Oldest first, with wall times. */
  lastHour(): (MeasuredPoint & { at: Date })[];
  kinds(): readonly string[];
  page(query: ObjectPageQuery): Promise<ObjectPage>;
  /** Of every kind that has an object of this name; `lookedAt` are the kinds that are known, and `unread` what cannot be read of them now. */
  details(key: Key): Promise<{
    objects: ObjectDetail[];
    contents: ContentDetail[];
    lookedAt: readonly string[];
    unread: readonly string[];
  }>;
  /** The Secrets and ConfigMaps that have this name, or that references lead to. */
  contents(key: Key): ContentDetail[];
  /** What cannot be read now, in sentences: nobody knows whether an object of it is there. */
  unread(): string[];
}

export interface PageSources {
  clock: Clock;
  /** Those that have their first lists. */
  syncs(): readonly Sync[];
  contents(): Iterable<ContentSync>;
  referrersOf(reference: Reference): readonly Referrer[];
}

export function createPageFacts({ clock, syncs, contents, referrersOf }: PageSources): PageFacts {
  const salt = randomBytes(32);
  const contentsOf = (key: Key): ContentDetail[] => {
    const { standbyBehind, leaderless } = syncs()[0]?.options ?? {};
    const how = { salt, referrersOf, leader: standbyBehind?.(), leaderless: leaderless?.() };
    return [...contents()].flatMap((content) => contentDetail(content, key, how) ?? []);
  };
  const unread = (): string[] => {
    const all = [...syncs().flatMap(unreadOf), ...[...contents()].flatMap(({ world }) => world.unread)];
    return [...new Set(all.map(unreadSentence))];
  };
  return {
    changes: () =>
      [...syncs(), ...contents()]
        .map(({ ledger, world }) => `${ledger.changes}.${world.windows.virtual.size}`)
        .join(' '),
    lastHour() {
      const [now, wallMs] = [clock.now(), clock.wallTime().getTime()];
      const points = syncs()[0]?.recent.hour.points(now) ?? [];
      return points.map((point) => ({ ...point, at: new Date(wallMs - (now - point.atMs)) }));
    },
    kinds: () => syncs().map(({ world }) => world.rules.translation.kind.kind),
    page: (query) => objectPage(syncs(), query),
    async details(key) {
      const found = await Promise.all(syncs().map((sync) => objectDetail(sync, key)));
      return {
        objects: found.filter((one) => one !== undefined),
        contents: contentsOf(key),
        lookedAt: [
          ...syncs().map(({ world }) => world.rules.translation.kind.kind),
          ...[...contents()].map(({ world }) => world.kind.kind),
        ],
        unread: unread(),
      };
    },
    contents: contentsOf,
    unread,
  };
}
