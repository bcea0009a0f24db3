"""The words generated names are made of: an adjective of colour, light, weather, craft or character, then a noun of
nature, place or craft.

Chosen so that no pair offends: no words for people, bodies, faiths, weapons, drink or size, none of the colours
people are called by, and none of the words that make a slogan, a slur or a party's name beside another one
(`tests/domain/identity/test_names.py` looks at every pair). A word may be added; taking one away makes names that exist
already unfit under AGENT_NAME_ENFORCEMENT_MODE=strict.
"""

from __future__ import annotations

ADJECTIVES = tuple(
    """
    Able Agile Airy Alert Alpine Amber Apt Arctic Ardent Artful Astral Autumn Avid Awake Azure Balmy Blithe Blue
    Bold Boreal Brave Breezy Bright Brisk Bronze Calm Candid Careful Celadon Charmed Cheerful Citrine Clear Clever
    Coastal Cobalt Constant Coral Cordial Cosmic Cozy Crafty Crimson Crisp Curious Daring Deft Devoted Diligent
    Distant Dulcet Eager Early Earnest Elegant Emerald Even Evergreen Exact Fabled Faithful Festive Fiery Fleet
    Floral Fluent Fond Forest Fragrant Fresh Friendly Frosty Frugal Gallant Garnet Gentle Genuine Gilded Glad
    Gleaming Glossy Golden Graceful Grand Grateful Green Happy Harmonic Hazel Heartfelt Hidden Honest Hopeful Humble
    Icy Ideal Indigo Inventive Jade Jaunty Jolly Jovial Joyful Jubilant Just Keen Kind Kindly Lasting Lavender Leafy
    Level Lilac Lively Lofty Loyal Lucid Lucky Luminous Lunar Lyric Magenta Marble Maroon Merry Mindful Mint
    Misty Modest Mossy Mystic Navy Neat Nimble Noble Northern Olive Onyx Opal Orange Orderly Patient Peaceful Pearl
    Periwinkle Placid Plucky Polar Polished Prompt Prudent Punctual Purple Quaint Quick Quiet Radiant Rapid Ready
    Red Refined Regal Reliable Resolute Robust Rosy Rustic Sage Sandy Sapphire Scarlet Scenic Serene Silent Silver
    Sincere Sleek Snowy Solar Solid Southern Spry Stable Starry Steady Sterling Still Stoic Sunlit Sunny
    Swift Tame Tangerine Teal Thankful Thorough Thoughtful Tidal Tidy Timely Topaz Tranquil Trusty Turquoise Umber
    Upbeat Valiant Velvet Verdant Vermilion Vernal Vivid Warm Watchful Western Whimsical Windy Winsome
    Wintry Wise Witty Wondrous Zesty Zippy
    """.split()
)

NOUNS = tuple(
    """
    Acorn Alcove Alder Almond Alpaca Anchor Antler Anvil Apple Arbor Arch Archway Aspen Aster Atlas Atoll Atrium
    Aurora Avenue Badger Bamboo Barley Barn Basin Bay Bayou Beacon Beech Beetle Bell Birch Bison Blossom Bluebell
    Bluff Bobcat Boulder Branch Brass Bridge Brook Cabin Cactus Cairn Camellia Canyon Caribou Carousel Castle Cavern
    Cedar Chime Cirrus Citadel Cliff Clover Comet Compass Condor Copper Cottage Cove Crane Crater Creek
    Crest Cricket Crocus Cypress Dahlia Daisy Dale Dell Delta Desert Dolphin Dove Dune Ember Estuary Fern Field
    Finch Fjord Flint Flower Foothill Forge Fox Foxglove Galaxy Garden Gate Gazelle Ginkgo Glacier Glade Glen Gorge
    Granary Granite Grotto Grove Gull Harbor Harvest Haven Hawk Heath Heather Hedge Heron Hickory Hill Horizon
    Hummingbird Hyacinth Ibex Ibis Inlet Iris Island Ivy Jasmine Jasper Juniper Kayak Kite Koala Lagoon Lake Lantern
    Larch Lark Laurel Library Lichen Lighthouse Lily Linden Loom Lotus Lupine Lynx Magnolia Magpie Mallard Manor
    Mantis Maple Marigold Marina Marsh Marten Meadow Mesa Meteor Mill Mimosa Monarch Moon Moose Moth Mountain Myrtle
    Narwhal Nebula Nest Nettle Oak Oasis Oboe Ocean Ocelot Orbit Orchard Orchid Oriole Osprey Otter Owl Paddle
    Palette Pasture Pavilion Peak Pebble Pelican Peony Petal Petrel Pheasant Pillar Pine Pinnacle Plain Planet
    Plateau Plaza Plover Pond Poplar Porch Prairie Prism Puffin Pulsar Quail Quarry Quartz Quill Quilt Raven Ravine
    Reed Reef Ridge River Robin Rosemary Saddle Saffron Sail Salmon Sandpiper Savanna Schooner Shale Shore Slate
    Sloop Sparrow Spire Spring Spruce Starling Steppe Stone Stork Summit Swan Sycamore Tapestry Teapot Tern Terrace
    Thicket Thistle Thyme Timber Torrent Tower Trail Tulip Tundra Turtle Valley Vault Veranda Viola Violet Vista
    Walnut Warbler Waterfall Watermill Wave Wharf Wheat Wheel Willow Windmill Wisteria Wombat Wren Yarrow Zebra
    Zenith Zephyr Zinnia
    """.split()
)
