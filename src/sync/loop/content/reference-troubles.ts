// What keeps content from standing behind the names that lead to it. In: ledgers of content, and references without an object. Out: plain
// values for reports. Pure.
import { keyOf } from '../../../object/meta/object.ts';
import type { ContentOutcome } from '../../kinds/content/content-step.ts';
import type { Reference } from '../../references/reference-names.ts';
import type { ContentStanding } from '../../references/referrers.ts';
import { type LedgerPage, labelOf } from '../../world/ledger.ts';

type ContentLedger = LedgerPage<ContentOutcome>;

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
  kinds: Iterable<{ ledger: Pick<ContentLedger, 'entries'>; unresolved: Iterable<unknown> }>,
): Map<string, number> {
  const gaps = new Map<string, number>();
  const note = (reason: string) => gaps.set(reason, (gaps.get(reason) ?? 0) + 1);
  for (const { ledger, unresolved } of kinds) {
    for (const _ of unresolved) note('ReferenceUnresolved');
    for (const [, { outcome }] of ledger.entries()) if (outcome.kind === 'refused') note(outcome.reason);
  }
  return gaps;
}
