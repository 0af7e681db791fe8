// When a watch that has not delivered is dead. Not after some seconds of the clock, in which a starved machine may have given neither the store nor its
// reader a turn, but when the store has answered others so often, and each soon.

export type Verdict =
  | 'dead'
  /** The store or its reader got too little processor time, so the missing delivery proves nothing. */
  | 'starved';

const pauseMs = 100;
/** Together ten seconds in which everything ran. */
const soonAnswers = 100;
/** Less than a watch over HTTP lives. */
const mostMs = 180_000;

export interface Patience {
  /** Whether the store has answered. */
  asks(): Promise<boolean>;
  isOver: AbortSignal;
  pauseMs?: number;
  mostMs?: number;
}

/** Asks nothing of a store that delivers at once, and nothing more behind the verdict. When it is over without a verdict, the promise stays open. */
export async function verdictOf({ asks, isOver, ...given }: Patience): Promise<Verdict> {
  const between = given.pauseMs ?? pauseMs;
  const never = Promise.withResolvers<Verdict>().promise;
  // A store may never answer, and a timer keeps the process: a watch in memory that waits in vain does not.
  let starved: NodeJS.Timeout | undefined;
  let isSettled = false;
  const tooLong = new Promise<Verdict>((resolve) => {
    starved = setTimeout(() => resolve('starved'), given.mostMs ?? mostMs);
  });
  const served = async (): Promise<Verdict> => {
    for (let soon = 0; soon < soonAnswers && !isOver.aborted && !isSettled; ) {
      const askedMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, between));
      if (!isOver.aborted && !isSettled && (await asks()) && performance.now() - askedMs < 2 * between) soon++;
    }
    return isOver.aborted ? never : 'dead';
  };
  isOver.addEventListener('abort', () => clearTimeout(starved), { once: true });
  return Promise.race([served(), tooLong]).finally(() => {
    isSettled = true;
    clearTimeout(starved);
  });
}
