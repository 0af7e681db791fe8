// The fault of a restore that cannot be done, with the remedy for an operator. Nothing was replaced.

export class RestoreFault extends Error {
  /** The cause: the input of the command, or the machine. */
  readonly side: 'input' | 'environment';
  readonly hint: string | undefined;
  /** The message says by itself what has become of the records. */
  readonly saysAll: boolean;

  constructor(
    side: 'input' | 'environment',
    message: string,
    options: { hint?: string; cause?: unknown; saysAll?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RestoreFault';
    this.side = side;
    this.hint = options.hint;
    this.saysAll = options.saysAll === true;
  }
}
