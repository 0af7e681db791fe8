// What keeps the black box from measuring, as one sentence for the person at the terminal.

/** Something around the black box is wrong: reported without a stack, with exit code 3. */
export class EnvironmentFault extends Error {}
