// Which host edits go to the tenant now, and why the others wait. Pure.
import { isSameKey, keysIn } from '../backflow.ts';
import type { BackKey, BackValues, Facts, Memory, Outcome } from '../step.ts';
import type { Update } from '../update-patch.ts';

/** The next key to send where several were refused together; undefined = each was refused. */
export function nextAlone(back: BackValues, refused: readonly BackKey[]): BackKey | undefined {
  return keysIn(back).find((key) => !refused.some((one) => isSameKey(one, key)));
}

/** The reason why a back-flow must wait; undefined when it may go now. */
export function heldBackFlow(
  update: Update,
  facts: Facts,
  { backflowRefused, isUncertain }: Pick<Memory, 'backflowRefused'> & { isUncertain: boolean },
): Outcome | undefined {
  if (update.virtual === undefined) return undefined;
  if (backflowRefused !== undefined) return backflowRefused;
  const isDoubtful = onlyRemovesLabels(update) || (isUncertain && update.virtual.labels.size > 0);
  if (isDoubtful && !facts.mayRemoveLabelsBack) {
    const message = 'labels changed on the host reach the virtual object once its Service is known to be current';
    return { kind: 'waiting', reason: 'BackFlowHeld', message, retryAfterMs: 1000 };
  }
  if (facts.backFlowWaitMs === 0) return undefined;
  const message = 'both sides keep changing the same fields';
  return { kind: 'waiting', reason: 'Contested', message, retryAfterMs: facts.backFlowWaitMs };
}

function onlyRemovesLabels(update: Update): boolean {
  const back = update.virtual;
  return (
    back !== undefined && back.annotations.size === 0 && [...back.labels.values()].every((value) => value === null)
  );
}
