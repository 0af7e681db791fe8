// Faults that no suite notices, each with the reason: it changes nothing that anybody could see, or what it changes is not worth a test.

export const survivors: readonly { name: string; reason: string }[] = [
  {
    name: 'src/sync/patch/set/blamed-patch.ts: "||" becomes "&&" in "if (root === undefined || root.key !== key || typeof result !== \'object\' || result === nul…" at 25',
    reason:
      'the first step always exists, and no field below the top of a kind that is synced has the name of a top-level field of its own kind, so comparing the names decides nothing',
  },
  {
    name: 'src/sync/report/status.ts: ">" becomes ">=" in "if (all.count > mostLooks && blocked >= all.count) return { count: 0, oldestMs: undefined …" at 16',
    reason:
      'it decides for exactly 2,000 waiting changes whether each is looked at, and the limit is about the time that the looks take',
  },
  {
    name: 'src/store/sqlite/sqlite-worker.ts: a thousand times the limit in "const largestCheckedLogBytes = 512 * 1024 * 1024;" at 31',
    reason: 'a test would need a log of half a gibibyte, a size that no log reaches',
  },
  {
    name: 'src/management/proxy/forward/passed-bytes.ts: ">" becomes ">=" in "if (this.#bytes > mostBytes) this.#cut();" at 20',
    reason: 'with exactly as many bytes as are allowed makeRoom() finds nobody who is too much, and cuts nothing',
  },
  {
    name: 'src/management/keys/book/shown-key.ts: "||" becomes "&&" in "if (specAt === -1 || hiddenAt < specAt) return undefined;" at 20',
    reason:
      'a text without one of the two marks is then cut within a name, which is no JSON, so that it is parsed as a whole all the same',
  },
  {
    name: 'src/store/kubernetes/kubernetes-store.ts: no "!" in "if (!(await this.#arrivals.within(silenceMs, () => this.#intake.guesses.size === 0))) awai…" at 8',
    reason:
      'the beat reads what another replica has said in the last moment of the wait; two tests tried to hit that moment, between the wait and the first answer, and neither did',
  },
];
