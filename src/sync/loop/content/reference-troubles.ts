// What keeps content from standing behind the names that lead to it. In: ledgers of content, and references without an object. Out: plain
// values for reports. Pure.
import { keyOf } from '../../../object/meta/object.ts';
import type { ContentOutcome } from '../../kinds/content/content-step.ts';
import { type NothingBehind, nothingBehind } from '../../references/nothing-behind.ts';
import type { Reference } from '../../references/reference-names.ts';
import type { ContentStanding } from '../../references/referrers.ts';
import type { CountedReference, ReferenceRegistry, Referrer } from '../../references/registry.ts';
import { type LedgerPage, labelOf } from '../../world/ledger.ts';
import type { ContentWorld } from './content-world.ts';

type ContentLedger = LedgerPage<ContentOutcome>;

/** With one object that refers. */
export interface UnmetReference extends NothingBehind {
  reference: CountedReference;
  referrer: Referrer;
}

/** References with nothing known behind them, to objects of one kind. */
export function unmetIn(
  registry: ReferenceRegistry,
  { kind, unread }: Pick<ContentWorld, 'kind' | 'unread'>,
): UnmetReference[] {
  return [...registry.unresolved(kind.kind)].map((one) => ({ ...one, ...nothingBehind(one.reference, unread) }));
}

const gapReasons = { unresolved: 'ReferenceUnresolved', unread: 'ReferenceUnread' } as const;

/** Undefined when the content is there, or nobody wants it there. */
export function troubleWith(
  { namespace, name }: Reference,
  ledger: Pick<ContentLedger, 'entry'> | undefined,
): ContentStanding | undefined {
  const outcome = ledger?.entry(keyOf(namespace, name))?.outcome;
  if (outcome === undefined || outcome.kind === 'settled') return undefined;
  return { standing: labelOf(outcome), ...('message' in outcome && { message: outcome.message }) };
}

/** Reason → number of references whose content does not cross until somebody acts. */
export function gapsOf(
  kinds: Iterable<{ ledger: Pick<ContentLedger, 'entries'>; nothings: readonly Pick<NothingBehind, 'standing'>[] }>,
): Map<string, number> {
  const gaps = new Map<string, number>();
  const note = (reason: string) => gaps.set(reason, (gaps.get(reason) ?? 0) + 1);
  for (const { ledger, nothings } of kinds) {
    for (const { standing } of nothings) note(gapReasons[standing]);
    for (const [, { outcome }] of ledger.entries()) if (outcome.kind === 'refused') note(outcome.reason);
  }
  return gaps;
}
