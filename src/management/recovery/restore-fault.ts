// A restore that cannot be done, said so that an operator can mend it. Nothing was replaced.

export class RestoreFault extends Error {
  /** Who is at fault: what was given, or the machine. */
  readonly side: 'input' | 'environment';
  readonly hint: string | undefined;

  constructor(side: 'input' | 'environment', message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RestoreFault';
    this.side = side;
    this.hint = options.hint;
  }
}
