// The pause before the next try, the same everywhere: none before the first failure, then doubled with every failure in a row.

export interface BackOff {
  firstMs: number;
  mostMs: number;
}

export function backOffMs(failures: number, { firstMs, mostMs }: BackOff): number {
  return failures < 1 ? 0 : Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, mostDoublings));
}

/** A larger power would not be a number any more; every maximum is reached before. */
const mostDoublings = 30;
