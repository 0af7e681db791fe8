// People who try hostile patches in the playground of a daemon, one after the other and without a pause: what they evaluate must delay
// none of the daemon's own patches.

/** Hang, swell and grow; the last is a long text that takes time to read. */
const bodies: readonly string[] = [
  bodyOf("'(() => { for (;;) {} })()'"),
  bodyOf("'[...Array(90000).keys()].map((n) => Array(90000).fill(n)).length'"),
  bodyOf('\'/^(a+)+$/.test("a".repeat(40) + "!")\''),
  JSON.stringify({
    config: '{}',
    virtual: `${endpoints()}subsets:\n${'- addresses: [{ip: 10.0.0.1}]\n'.repeat(6_000)}`,
  }),
];

function bodyOf(expression: string): string {
  return JSON.stringify({ config: `- path: metadata.labels.a\n  expression: ${expression}\n`, virtual: endpoints() });
}

function endpoints(): string {
  return 'apiVersion: v1\nkind: Endpoints\nmetadata: {name: a, namespace: b, labels: {a: x}}\n';
}

export class PlaygroundLoad {
  readonly #base: string;
  #isOn = true;
  #answers = 0;
  #asking: Promise<void> = Promise.resolve();

  constructor(base: string) {
    this.#base = base;
  }

  /** The token is in the navigation of the status page. */
  async start(people = 2): Promise<this> {
    const page = await (await fetch(`${this.#base}/`)).text();
    const [, token] = /\/playground#token=([\w-]+)/.exec(page) ?? [];
    if (token === undefined) throw new Error('the status page has no link to the playground');
    const all = Array.from({ length: people }, (_, at) => this.#ask(token, at));
    this.#asking = Promise.all(all).then(() => {});
    return this;
  }

  /** Returns how many evaluations got an answer. */
  async stop(): Promise<number> {
    this.#isOn = false;
    await this.#asking;
    return this.#answers;
  }

  async #ask(token: string, from: number): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    for (let at = from; this.#isOn; at++) {
      const body = bodies[at % bodies.length] as string;
      const answer = await fetch(`${this.#base}/api/render`, { method: 'POST', headers, body });
      await answer.text();
      if (answer.ok) this.#answers++;
      else if (answer.status !== 503) throw new Error(`the playground answers ${answer.status}`);
    }
  }
}
