// node axe.mjs CHROMIUM NODE_MODULES FILE...: prints what axe-core finds in each file, at each pair of width, colours and script.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [executablePath, modules, ...files] = process.argv.slice(2);
const require = createRequire(path.resolve(modules) + '/');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const SIGHTS = [
  [320, 'light', true], [320, 'dark', false], [375, 'light', true], [375, 'dark', false], [1280, 'dark', true], [1280, 'light', false],
];
const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

const browser = await chromium.launch({ executablePath, headless: true, args });
for (const file of files) {
  for (const [width, colorScheme, script] of SIGHTS) {
    const context = await browser.newContext({ offline: true, viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    const place = `${path.basename(file)} ${width} ${colorScheme} script ${script}`;
    page.on('request', (sent) => { if (!/^(file|data):/.test(sent.url())) console.log(place, 'asked for', sent.url()); });
    page.on('console', (said) => console.log(place, 'console', said.text()));
    if (script) await page.goto('file://' + path.resolve(file));
    else await page.setContent(fs.readFileSync(file, 'utf8').replace(/<script>[^]*?<\/script>/, ''));
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wider > 0) console.log(place, 'is wider than the window by', wider);
    if (width === 375) { await context.close(); continue; } // laid out as at 320
    await page.evaluate(axe);
    const options = { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] };
    const found = await page.evaluate((how) => window.axe.run(document, how), options);
    for (const one of found.violations) {
      console.log(place, one.impact, one.id, one.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(' | '));
    }
    if (found.passes.length < 20) console.log(place, 'only', found.passes.length, 'rules applied');
    await context.close();
  }
}
await browser.close();
