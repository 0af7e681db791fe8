// How long something took, without the time for which a busy machine let this process wait. Such a wait is no delay of the product, so a
// test that says "within a second" must not fail for it. Of the time between two looks at the clock only so much counts as was asked
// for, and what the process has worked in it.

const lookEveryMs = 10;

/** Begins to count; what it returns says how much it is up to now. */
export function ownTime(): () => number {
  let ownMs = 0;
  let [atMs, workedMs] = [performance.now(), processorMs()];
  const look = (): void => {
    const [nowMs, worksMs] = [performance.now(), processorMs()];
    ownMs += Math.min(nowMs - atMs, lookEveryMs + worksMs - workedMs);
    [atMs, workedMs] = [nowMs, worksMs];
  };
  const looks = setInterval(look, lookEveryMs);
  looks.unref();
  return () => {
    clearInterval(looks);
    look();
    return ownMs;
  };
}

/** Other programs of the machine do not count, all threads of this process do. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
