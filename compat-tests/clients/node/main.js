'use strict';
// Goes through the scenarios on every server (name=relay,direct), side by side.

const { Script } = require('./script.js');
const scenarios = require('./scenarios.js');

async function play(server, relay, direct) {
  for (const [name, run] of Object.entries(scenarios)) {
    const s = new Script(name, server, relay, direct);
    try {
      await run(s);
      s.say('ends');
    } catch (e) {
      console.error(server, name, e);
      s.say(`BROKE OFF, ${String(e).replaceAll('\n', ' ')}`);
    }
    s.close();
  }
}

async function main() {
  await Promise.all(process.argv.slice(2).map((argument) => {
    const [server, addresses] = argument.split('=');
    return play(server, ...addresses.split(','));
  }));
  console.log('END');
  process.exit(0);
}

main();
