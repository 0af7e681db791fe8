// The other side of an AskedProcess: answers the commands of a benchmark, one at a time, and reads its own processor time.

/** Answers each command that the benchmark sends; the process ends with the benchmark. */
export function answerCommands<C>(answer: (command: C) => Promise<unknown>): void {
  process.on('message', (command: C) => {
    answer(command).then(
      (value) => process.send?.({ value }),
      (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}

export interface UsageReadings {
  cpuMs: number;
  rssMb: number;
}

/** The processor time of this process since the last reset, and its memory now. */
export class Usage {
  #cpu = process.cpuUsage();

  reset(): true {
    this.#cpu = process.cpuUsage();
    return true;
  }

  read(): UsageReadings {
    const { user, system } = process.cpuUsage(this.#cpu);
    return { cpuMs: (user + system) / 1000, rssMb: process.memoryUsage.rss() / 1024 / 1024 };
  }
}
